"""Offsets rise from batch to batch, without holes where nothing was compacted away."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns
from logstore.file_name import FileKind, file_name
from logstore.files.offset_checkpoint import CLEANER_OFFSET_CHECKPOINT
from logstore.files.only_copy.offset_gaps import OFFSET_GAPS_NAME, OffsetGaps
from logstore.offline.segment import Segment
from logstore.verify.compaction import Compaction
from logstore.verify.finding import CURE, Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck, end_after, ends

MOST_GAPS: Final = 1_000
"""Holes that are kept until the end, when it is known whether they matter; more are only counted."""


@dataclass(frozen=True, slots=True)
class Gap:
    """No batch holds the offsets from `start` to `end`, exclusive."""

    start: int
    end: int
    file: str
    position: int
    between_segments: bool


class OffsetCheck(SilentCheck):
    """Finds offsets that go backwards, come twice, or are missing."""

    def __init__(self, report: Reporter, compaction: Compaction, log_start: int, known: OffsetGaps) -> None:
        self._report = report
        self._known = known
        """What the log says itself that it lacks."""
        self._compaction = compaction
        self._log_start = log_start
        """What is missing below was deleted: a truncation inside the first batch that is left makes such holes."""
        self._next_offset: int | None = None
        self._previous = (-1, -1, -1)  # base offset, last offset, stored checksum
        self._gaps: list[Gap] = []
        self._further_gaps = 0
        self._misplaced = Misplaced()
        self._segment: Segment | None = None
        self._after_damage = False

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Compare each batch with all batches before it."""
        columns = chunk.columns
        is_first = self._next_offset is None
        opens_segment = chunk.segment is not self._segment
        if opens_segment:
            yield from self._segment_base(chunk)
        self._segment = chunk.segment
        if not chunk.totals.breaks and columns.base_offset[0] == self._next_offset:
            self._end(columns, end_after(chunk.totals.highest_offset))
            return
        reached = ends(columns, self._next_offset or 0)
        before = reached[:-1]
        for row in (columns.base_offset < before).nonzero()[0]:
            yield self._backwards(chunk, int(row))
        # What seems to be missing before a wrapped set that cannot be read may be in there.
        gaps = ((columns.base_offset > before) & ~columns.is_unread).nonzero()[0]
        if self._after_damage:
            gaps = gaps[gaps > 0]
        for row in gaps:
            # A segment named for the offset where the hole begins was there before it.
            opens_hole = int(before[row]) == chunk.segment.base_offset
            between = opens_segment and not (is_first or opens_hole) and row == 0
            # Deleting goes from the start on: a segment that is gone between others was not deleted.
            if between or columns.base_offset[row] > self._log_start:
                self._gap(chunk, int(row), int(before[row]), between=between)
        self._end(columns, int(reached[-1]))

    def _end(self, columns: BatchColumns, next_offset: int) -> None:
        self._previous = self._batch_before(columns, len(columns))
        self._next_offset = next_offset
        self._after_damage = False

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Expect a hole where bytes could not be read."""
        del start, end
        self._after_damage = True
        self._segment = segment

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """Expect a hole behind a segment without batches, which is another check's to judge."""
        if segment is not self._segment and not is_active:
            self._after_damage = True
        yield from ()

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Report what is missing, now that it is known whether the log was compacted."""
        for hole in self._known.within(self._log_start, log_end_offset).holes:
            yield self._report.error(
                "known-hole",
                f"{hole} were damaged or lost, and the log was opened without them: readers get an error there",
                file=OFFSET_GAPS_NAME,
                offset=hole.start_offset,
            )
        if self._compaction.found:
            if self._compaction.is_assumed and self._gaps:
                yield self._unexplained(self._gaps[0])
            return
        for gap in self._gaps:
            if not self._known.covers(gap.start, gap.end) and not self._misplaced.any_between(gap.start, gap.end):
                yield self._describe(gap)
        if self._further_gaps:
            yield self._report.error(
                "offset-gap", f"{self._further_gaps:,} further holes between offsets follow: {CURE}", file=None
            )

    def _segment_base(self, chunk: Chunk) -> Iterator[Finding]:
        base = chunk.segment.base_offset
        first = int(chunk.columns.base_offset[0])
        if self._next_offset is None:
            self._next_offset = base
        if base < self._next_offset <= first:
            yield self._report.error(
                "segment-name-wrong",
                f"the segment before reaches offset {self._next_offset - 1}, beyond the {base} of the file's name, and "
                f"the first batch here has offset {first}: the file was renamed; {CURE}",
                file=chunk.segment.log_path.name,
                position=0,
                offset=first,
            )
        if first < base:
            yield self._report.error(
                "batch-below-segment",
                f"the first batch has offset {first}, below the {base} that the file's name says: the file was "
                f"renamed, or is another partition's; {CURE}",
                file=chunk.segment.log_path.name,
                position=int(chunk.columns.position[0]),
                offset=first,
            )

    def _backwards(self, chunk: Chunk, row: int) -> Finding:
        columns = chunk.columns
        base, last = int(columns.base_offset[row]), int(columns.last_offset[row])
        before = self._batch_before(columns, row)
        file, position = chunk.segment.log_path.name, int(columns.position[row])
        if before == (base, last, int(columns.crc[row])):
            return self._report.error(
                "duplicate-batch",
                f"the batch with offsets {base}..{last} is here a second time, and consumers may get its "
                f"records twice: {CURE}",
                file=file,
                position=position,
                offset=base,
            )
        self._misplaced.add(base, last)
        return self._report.error(
            "offsets-go-backwards",
            f"the batch with offsets {base}..{last} follows offset {before[1]}: readers that seek will miss "
            f"records; {CURE}",
            file=file,
            position=position,
            offset=base,
        )

    def _batch_before(self, columns: BatchColumns, row: int) -> tuple[int, int, int]:
        if row == 0:
            return self._previous
        return int(columns.base_offset[row - 1]), int(columns.last_offset[row - 1]), int(columns.crc[row - 1])

    def _gap(self, chunk: Chunk, row: int, start: int, *, between: bool) -> None:
        if len(self._gaps) == MOST_GAPS:
            self._further_gaps += 1
            return
        end, position = int(chunk.columns.base_offset[row]), int(chunk.columns.position[row])
        self._gaps.append(Gap(start, end, chunk.segment.log_path.name, position, between))

    def _unexplained(self, gap: Gap) -> Finding:
        """Return one finding for all holes: the file that would explain them is not there."""
        number = len(self._gaps) + self._further_gaps
        where = "there" if number == 1 else f"there and in {number - 1:,} more places"
        return self._report.warning(
            "compaction-unknown",
            f"offsets {gap.start}..{gap.end - 1} are missing; what was {where} is compacted away, or lost: the "
            f"{CLEANER_OFFSET_CHECKPOINT} of the directory's root would show which, so put it beside the directory, "
            "or name the root, and verify again",
            file=gap.file,
            position=gap.position,
            offset=gap.start,
        )

    def _describe(self, gap: Gap) -> Finding:
        first = max(gap.start, self._log_start) if self._log_start < gap.end else gap.start
        what = f"offsets {first}..{gap.end - 1} are missing"
        if gap.between_segments:
            return self._report.error(
                "missing-segment",
                f"{what}: the log goes on in {gap.file}; a segment is gone, so {CURE}",
                file=file_name(FileKind.LOG, gap.start),
                offset=first,
            )
        return self._report.error(
            "offset-gap",
            f"{what}, and nothing says that the log was ever compacted: lost, or skipped by a truncation inside a "
            "batch; compare with another replica",
            file=gap.file,
            position=gap.position,
            offset=first,
        )


class Misplaced:
    """The offsets of batches that stand behind higher ones: they are missing in one place and found in another."""

    def __init__(self) -> None:
        self._base = array("q")
        self._last = array("q")
        self._order: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def add(self, base: int, last: int) -> None:
        """Add a batch's offsets."""
        self._base.append(base)
        self._last.append(last)
        self._order = None

    def any_between(self, start: int, end: int) -> bool:
        """Whether some batch has an offset from `start` on and before `end`."""
        bases, highest = self._ordered()
        number = int(np.searchsorted(bases, end)) - 1
        return number >= 0 and bool(highest[number] >= start)

    def _ordered(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return first offsets in rising order, and the highest last offset of all batches up to each."""
        if self._order is None:
            base, last = np.array(self._base, np.int64), np.array(self._last, np.int64)
            order = np.argsort(base, kind="stable")
            self._order = base[order], np.maximum.accumulate(last[order])
        return self._order
