"""A copy of which a task reads some segments, or parts of one, as they were when the query was planned."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from logstore.offline.log_file import LogFile
from replication.copies.audit.copy_summary import SegmentExtent
from replication.copies.audit.log_rows.file_state import FileState
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import ByteRange, Copy


@dataclass(frozen=True, slots=True)
class ListedCopy:
    """What one task reads of one copy."""

    copy: Copy
    """With those segments alone whose files are needed."""
    ranges: tuple[ByteRange, ...]
    """What is asked for."""
    last_file: str | None
    """The `.log` file that a broker may still append to; None without any."""
    bases: tuple[int, ...]
    """The base offsets of all its segments."""
    states: dict[str, FileState]
    """Of the files that are needed."""

    @classmethod
    def of(cls, copy: Copy, ranges: tuple[ByteRange, ...], whole: Sequence[SegmentExtent]) -> Self:
        """Look at the files of a copy, of which these are `whole` segments. Raises SnapshotChangedError."""
        last = whole[-1] if whole else None
        place = Storage(copy.root).child(copy.directory)
        states = {
            each.file: FileState.of(place.path / each.file, may_grow=each == last)
            if copy.is_local
            else FileState(each.size, may_grow=each == last)
            for each in copy.segments
        }
        return cls(copy, ranges, last.file if last else None, tuple(each.base_offset for each in whole), states)

    def file_of(self, part: ByteRange) -> str:
        """Name the `.log` file that a range is in."""
        return SegmentExtent(part.base_offset, part.end).file

    def logs(self, directory: Path, among: Collection[int] | None = None) -> Iterator[tuple[int, LogFile]]:
        """Open the files one after the other, each as far as it was listed, with the segment's base offset.

        Those `among` some base offsets, or all.
        """
        for segment in self.copy.segments:
            if among is not None and segment.base_offset not in among:
                continue
            with self.opened(directory / segment.file) as log:
                yield segment.base_offset, LogFile(log.data[: self.states[segment.file].size], log.path)

    @property
    def begun(self) -> tuple[int, ...]:
        """The base offsets of the segments that are read from their beginning on: of each that is one task's."""
        return tuple(part.base_offset for part in self.ranges if not part.start)

    @contextmanager
    def opened(self, path: Path) -> Iterator[LogFile]:
        """Open one of the files. Raises SnapshotChangedError, before and after, where it is no longer as it was."""
        self.ensure_same([path])
        with LogFile.open(path) as log:
            yield log
        self.ensure_same([path])

    def ensure_same(self, paths: Sequence[Path]) -> None:
        """Raise SnapshotChangedError where one of the files is no longer as it was."""
        place = Storage(self.copy.root).child(self.copy.directory).shown
        for path in paths:
            self.states[path.name].ensure_same(path, f"{place}/{path.name}")
