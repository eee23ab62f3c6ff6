"""The offsets that a log that is the only copy is known to lack between two of its segments."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from epoch.checkpoint import format_checkpoint, parse_checkpoint_lines, parse_number, read_checkpoint
from epoch.errors import CheckpointError
from epoch.filesystem import REAL, FileSystem
from logstore.errors import CorruptMetadataError, HoleError

OFFSET_GAPS_NAME: Final = "offset-gaps"
_ADVICE: Final = "what the log lacks is no longer known: compare it with a backup, and remove the file"


class Hole(NamedTuple):
    """Offsets whose records were damaged or lost: readers get HoleError there, and continue behind it."""

    start_offset: int
    """The first that is not there."""
    end_offset: int
    """The first behind it."""

    def __str__(self) -> str:
        last = self.end_offset - 1
        return f"offset {last:,}" if last <= self.start_offset else f"offsets {self.start_offset:,} to {last:,}"

    def error(self, directory: Path, otherwise: str = "") -> HoleError:
        """Return the error for a reader that comes to it; `otherwise` is what it may do besides skipping the hole."""
        error = HoleError(
            f"the log has a hole, as {self} could not be read any more",
            file=directory,
            offset=self.start_offset,
            advice=f"go on at {self.end_offset:,}{otherwise}",
        )
        error.next_offset = self.end_offset
        return error


@dataclass(frozen=True, slots=True)
class OffsetGaps:
    """Holes, and offsets that never had records: followers skip those that their leader has compacted away."""

    holes: tuple[Hole, ...] = ()
    skipped: tuple[Hole, ...] = ()
    """Readers get no error for these: compaction has left them, too."""
    is_kept: bool = False
    """Whether the file says so; else there may be others."""
    number: int = field(default=0, compare=False)
    """Of the list as it was written: each has a higher one than those before it."""
    checksum: int = field(default=0, compare=False)
    """Of the list as it was written."""

    @classmethod
    def read(cls, directory: Path) -> "OffsetGaps":
        """Read the file; a missing one knows of none, and is not kept. Raises CorruptMetadataError, and OSError."""
        path = directory / OFFSET_GAPS_NAME
        try:
            rows = parse_checkpoint_lines(read_checkpoint(path), path=path, fields=3)
            gaps = [(_gap(row.fields, path, row.line), row.fields[0]) for row in rows]
        except FileNotFoundError:
            return cls()
        except CheckpointError as error:
            raise CorruptMetadataError(str(error), file=path, advice=_ADVICE) from error
        if not gaps or gaps.pop() != _checksum(row.fields for row in rows[:-1]):
            raise CorruptMetadataError("its checksum does not match", file=path, advice=_ADVICE)
        number = max((row.start_offset for row in _of(gaps, "number")), default=0)
        found = cls(tuple(_of(gaps, "hole")), tuple(_of(gaps, "skipped")), is_kept=True, number=number)
        return replace(found, checksum=found.checksum_of_list)

    @staticmethod
    def remove(directory: Path, filesystem: FileSystem = REAL) -> None:
        """Remove the file: who replicates the log notes no gaps. Raises OSError."""
        path = directory / OFFSET_GAPS_NAME
        if path.exists():
            filesystem.unlink(path)

    def write(self, directory: Path, filesystem: FileSystem = REAL) -> "OffsetGaps":
        """Replace the file, durably; return what is kept from now on. Raises OSError."""
        number = self.number + 1
        rows = [*self._rows(), ("number", str(number), "0")]
        checked, kind = _checksum(rows)
        rows.append((kind, str(checked.start_offset), str(checked.end_offset)))
        filesystem.write_atomically(directory / OFFSET_GAPS_NAME, format_checkpoint(rows))
        return replace(self, is_kept=True, number=number, checksum=self.checksum_of_list)

    @property
    def checksum_of_list(self) -> int:
        """A checksum of the gaps, independent of the number of the list."""
        return _checksum(self._rows())[0].start_offset

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (kind, str(gap.start_offset), str(gap.end_offset))
            for kind, gaps in (("hole", self.holes), ("skipped", self.skipped))
            for gap in gaps
        ]

    def with_hole(self, hole: Hole) -> "OffsetGaps":
        """Return them with one more."""
        return replace(self, holes=tuple(sorted({*self.holes, hole})))

    def with_skipped(self, start: int, end: int) -> "OffsetGaps":
        """Return them with offsets that were skipped."""
        return replace(self, skipped=tuple(sorted({*self.skipped, Hole(start, end)})))

    def between(self, gaps: Iterable[Hole]) -> "OffsetGaps":
        """Return the holes, and of the `gaps` between segments those that are none."""
        holes = replace(self, skipped=())
        return replace(self, skipped=tuple(gap for gap in gaps if not holes.covers(gap.start_offset, gap.end_offset)))

    def within(self, start: int, end: int) -> "OffsetGaps":
        """Return what is left of them in a log that begins at `start` and ends at `end`."""
        return replace(self, holes=_within(self.holes, start, end), skipped=_within(self.skipped, start, end))

    def before_hole(self, offset: int) -> int:
        """Return where a log is to end that is cut at `offset`: not within a hole."""
        return next((hole.start_offset for hole in self.holes if hole.start_offset < offset < hole.end_offset), offset)

    def next_hole(self, offset: int) -> Hole | None:
        """Return the first hole that reaches beyond `offset`."""
        return next((hole for hole in self.holes if hole.end_offset > offset), None)

    def covers(self, start: int, end: int) -> bool:
        """Whether all offsets from `start` up to `end` are known to be missing."""
        for gap in sorted((*self.holes, *self.skipped)):
            if gap.start_offset <= start:
                start = max(start, gap.end_offset)
        return start >= end


def _checksum(rows: Iterable[tuple[str, ...]]) -> tuple[Hole, str]:
    """Return the last row, which no other may have: a checksum of those before it, and 0."""
    return Hole(crc32("\n".join(map(" ".join, rows)).encode()), 0), "checksum"


def _gap(fields: tuple[str, ...], path: Path, line: int) -> Hole:
    start, end = (parse_number(text, bits=64, path=path, line=line) for text in fields[1:])
    return Hole(start, end)


def _of(gaps: Iterable[tuple[Hole, str]], kind: str) -> Iterator[Hole]:
    return (gap for gap, its_kind in gaps if its_kind == kind)


def _within(gaps: Iterable[Hole], start: int, end: int) -> tuple[Hole, ...]:
    return tuple(gap for gap in gaps if gap.end_offset > start and gap.end_offset <= end)
