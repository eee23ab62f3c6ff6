"""Offsets rise from batch to batch, without holes where nothing was compacted away."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from logstore.file_name import FileKind, file_name
from logstore.segment import Segment
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck


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

    def __init__(self, report: Reporter, *, compacted: bool) -> None:
        self._report = report
        self._compacted = compacted
        self._next_offset: int | None = None
        self._previous = (-1, -1, -1)  # base offset, last offset, stored checksum
        self._gaps: list[Gap] = []
        self._misplaced: list[tuple[int, int]] = []
        self._first_of_segment = True
        self._after_damage = False

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Compare each batch with all before it."""
        columns = chunk.columns
        file = chunk.segment.log_path.name
        if self._first_of_segment:
            yield from self._segment_base(chunk)
        before = self._running_end(columns.last_offset, columns.base_offset)
        for row in np.flatnonzero(columns.base_offset < before):
            yield self._backwards(chunk, int(row))
        for row in np.flatnonzero(columns.base_offset > before):
            skipped = self._after_damage and row == 0
            if not skipped:
                start, end = int(before[row]), int(columns.base_offset[row])
                between = self._first_of_segment and row == 0
                self._gaps.append(Gap(start, end, file, int(columns.position[row]), between))
        if self._has_holes(columns.base_offset, columns.last_offset, columns.record_count, columns.crc_valid):
            self._compacted = True
        last = len(columns) - 1
        self._previous = (int(columns.base_offset[last]), int(columns.last_offset[last]), int(columns.crc[last]))
        self._next_offset = max(int(before[last]), int(columns.last_offset[last]) + 1)
        self._first_of_segment = False
        self._after_damage = False

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Expect a hole where bytes could not be read."""
        del segment, start, end
        self._after_damage = True
        self._first_of_segment = False

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """Report a segment without batches that is followed by others."""
        if self._first_of_segment and not is_active and segment.size == 0:
            yield self._report.error(
                "empty-segment",
                "the file has 0 bytes although later segments go on: its records are lost on this replica",
                file=segment.log_path.name,
                position=0,
                offset=segment.base_offset,
            )
            self._after_damage = True
        else:
            self._after_damage = False
        self._first_of_segment = True

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Report the holes, now that it is known whether the log was compacted."""
        del log_end_offset
        if self._compacted:
            return
        for gap in self._gaps:
            if not any(gap.start <= last and base < gap.end for base, last in self._misplaced):
                yield self._describe(gap)

    def _running_end(self, last_offset: np.ndarray, base_offset: np.ndarray) -> np.ndarray:
        """For each batch, the offset after the highest one before it."""
        first = self._next_offset if self._next_offset is not None else int(base_offset[0])
        ends = np.empty(len(last_offset), np.int64)
        ends[0] = first
        ends[1:] = last_offset[:-1] + 1
        return np.maximum.accumulate(ends)

    def _segment_base(self, chunk: Chunk) -> Iterator[Finding]:
        base = chunk.segment.base_offset
        first = int(chunk.columns.base_offset[0])
        if self._next_offset is None:
            self._next_offset = base
        if first < base:
            yield self._report.error(
                "batch-below-segment",
                f"the first batch has offset {first}, below the {base} that the file's name says",
                file=chunk.segment.log_path.name,
                position=int(chunk.columns.position[0]),
                offset=first,
            )

    def _backwards(self, chunk: Chunk, row: int) -> Finding:
        columns = chunk.columns
        base, last = int(columns.base_offset[row]), int(columns.last_offset[row])
        before = self._batch_before(chunk, row)
        file, position = chunk.segment.log_path.name, int(columns.position[row])
        if before == (base, last, int(columns.crc[row])):
            return self._report.error(
                "duplicate-batch",
                f"the batch with offsets {base}..{last} stands here a second time",
                file=file,
                position=position,
                offset=base,
            )
        self._misplaced.append((base, last))
        return self._report.error(
            "offsets-go-backwards",
            f"the batch with offsets {base}..{last} follows one with offsets {before[0]}..{before[1]}: readers "
            "that seek "
            "will miss records",
            file=file,
            position=position,
            offset=base,
        )

    def _batch_before(self, chunk: Chunk, row: int) -> tuple[int, int, int]:
        if row == 0:
            return self._previous
        columns = chunk.columns
        return int(columns.base_offset[row - 1]), int(columns.last_offset[row - 1]), int(columns.crc[row - 1])

    @staticmethod
    def _has_holes(base: np.ndarray, last: np.ndarray, count: np.ndarray, valid: np.ndarray) -> bool:
        """Batches with fewer records than offsets exist only where the cleaner was."""
        return bool(((count < last - base + 1) & valid).any())

    def _describe(self, gap: Gap) -> Finding:
        what = f"offsets {gap.start}..{gap.end - 1} are missing"
        if gap.between_segments:
            return self._report.error(
                "missing-segment",
                f"{what}: the log goes on in {gap.file}; a segment is gone",
                file=file_name(FileKind.LOG, gap.start),
                offset=gap.start,
            )
        return self._report.error(
            "offset-gap",
            f"{what} in a log that was never compacted: lost, or skipped by a truncation inside a batch",
            file=gap.file,
            position=gap.position,
            offset=gap.start,
        )
