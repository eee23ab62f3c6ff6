"""Whether a replicated log's segments follow one another: none is missing, shorter than it was, or misnamed."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from logstore import recovery
from logstore.batch.layout import LENGTH_AT
from logstore.errors import DamagedLogError
from logstore.file_name import FileKind, file_name
from logstore.recovery.damage.held_damage import HELD_ADVICE


class Break(NamedTuple):
    """Where they do not."""

    offset: int
    """The log has all below it."""
    cut_from: int
    """The base offset of the first segment that goes where the log is cut there."""
    file: int
    """The base offset of the one that is missing, or wrong."""
    what: str
    end_offset: int | None = None
    """Where the log goes on, if that is known."""

    def error(self, directory: Path) -> DamagedLogError:
        """Return what it is for whoever opens the log."""
        path = directory / file_name(FileKind.LOG, self.file)
        error = DamagedLogError(self.what, file=path, position=0, offset=self.offset, advice=HELD_ADVICE)
        error.end_offset = self.end_offset
        return error


class SegmentChain:
    """Looks for the first place where a log's segments break off; changes nothing."""

    def __init__(self, directory: Path, *, is_compacted: bool) -> None:
        """Create a chain of a directory's segments; one that is compacted may lack offsets anywhere."""
        self._directory: Final = directory
        self._may_skip: bool | None = is_compacted or None
        """Whether it lacks offsets that nobody misses; None as long as nobody has asked."""

    def find_break(self, base_offsets: Sequence[int], ends: Mapping[int, int], begins_at: int) -> Break | None:
        """Return the first break, by where segments end as far as that is known; None without one. Raises OSError.

        `begins_at` is where the log is recorded to begin; its first segment may begin before.
        """
        if not base_offsets:
            return None
        first = base_offsets[0]
        if begins_at < first:
            what = f"the log began at offset {begins_at:,}, and its first segment is that of {first:,}"
            return Break(begins_at, first, begins_at, what, first)
        found = next(self._breaks(base_offsets, ends, begins_at), None)
        return found and found._replace(offset=max(found.offset, begins_at))

    def _breaks(self, base_offsets: Sequence[int], ends: Mapping[int, int], begins_at: int) -> Iterator[Break]:
        for before, following in pairwise(base_offsets):
            yield from self._misnamed(before)
            end = ends.get(before, following)
            if end > following:
                what = f"the segment reaches offset {end - 1:,}, beyond where the next one begins, at {following:,}"
                yield Break(before, before, before, what)
            elif max(end, begins_at) < following and not self._skips(before, following, base_offsets):
                what = f"the segment of {before:,} ends at offset {end:,}, and the next one begins at {following:,}"
                yield Break(end, following, end, what, following)
        yield from self._misnamed(base_offsets[-1])

    def _misnamed(self, base_offset: int) -> Iterator[Break]:
        """Look at the first batch: it has no offset below that of its file's name."""
        with open(self._directory / file_name(FileKind.LOG, base_offset), "rb", buffering=0) as file:
            field = file.read(LENGTH_AT)
        first = int.from_bytes(field, signed=True)
        if len(field) == LENGTH_AT and first < base_offset:
            what = f"the segment of {base_offset:,} begins with offset {first:,}"
            yield Break(base_offset, base_offset, base_offset, what)

    def _skips(self, before: int, following: int, base_offsets: Sequence[int]) -> bool:
        """Whether any segment shows that the log was compacted, or copied from one that was; the nearest first."""
        if self._may_skip is None:
            nearest = dict.fromkeys([before, following, *base_offsets])
            files = (self._directory / file_name(FileKind.LOG, each) for each in nearest)
            self._may_skip = any(map(recovery.segment_ends.skips_offsets, files))
        return self._may_skip
