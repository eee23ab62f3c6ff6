"""The producer snapshots in a partition's directory, by offset."""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from epoch.filesystem import FileSystem
from logstore.file_name import FileFate, FileKind, file_name, parse_file_name
from logstore.files.producer_snapshot import ProducerSnapshot


class ProducerSnapshots:
    """The files named `{offset:020d}.snapshot`. All methods raise OSError."""

    def __init__(self, directory: Path, filesystem: FileSystem) -> None:
        """Find the snapshots that are there."""
        self.directory = directory
        self._filesystem = filesystem
        self._offsets = sorted(_find(directory))

    @property
    def offsets(self) -> tuple[int, ...]:
        """Of all snapshots, ascending."""
        return tuple(self._offsets)

    @property
    def latest(self) -> int | None:
        """The largest offset."""
        return self._offsets[-1] if self._offsets else None

    @property
    def oldest(self) -> int | None:
        """The smallest offset."""
        return self._offsets[0] if self._offsets else None

    def path(self, offset: int) -> Path:
        """Where the snapshot at `offset` is or would be."""
        return self.directory / file_name(FileKind.PRODUCER_SNAPSHOT, offset)

    def read(self, offset: int) -> ProducerSnapshot:
        """Read one. Raises CorruptSnapshotError."""
        return ProducerSnapshot.read(self.path(offset))

    def write(self, offset: int, snapshot: ProducerSnapshot, *, sync: bool = True) -> Path:
        """Write one, and by default put its content on stable storage. A torn one is found by its checksum."""
        self.write_encoded(offset, snapshot.encode(), sync=sync)
        return self.path(offset)

    def write_encoded(self, offset: int, data: bytes, *, sync: bool = True) -> None:
        """Write one of which the bytes are known."""
        path = self.path(offset)
        try:
            descriptor = self._filesystem.open(path, truncate=True)
            try:
                self._filesystem.write(descriptor, data)
                if sync:
                    self._filesystem.fsync(descriptor)
            finally:
                self._filesystem.close(descriptor)
            self._offsets = sorted({*self._offsets, offset})
        except BaseException:
            with suppress(OSError):  # a torn one is found by its checksum
                self._filesystem.unlink(path)
            raise

    def sync(self, offset: int) -> None:
        """Put the content of one on stable storage."""
        descriptor = self._filesystem.open(self.path(offset))
        try:
            self._filesystem.fsync(descriptor)
        finally:
            self._filesystem.close(descriptor)

    def carry_out(self) -> "ProducerSnapshots":
        """Do what was only prepared: here nothing ever is."""
        return self

    def remove(self, offset: int) -> None:
        """Remove one, if it is there."""
        with suppress(FileNotFoundError):
            self._filesystem.unlink(self.path(offset))
        self._offsets = [each for each in self._offsets if each != offset]

    def remove_all(self, offsets: Collection[int]) -> None:
        """Remove several."""
        for offset in offsets:
            self.remove(offset)

    def remove_strays(self, base_offsets: Collection[int]) -> None:
        """Remove the snapshots where no segment begins, but the newest if it lies beyond all segments."""
        strays = [offset for offset in self._offsets if offset not in base_offsets]
        if strays and (not base_offsets or strays[-1] > max(base_offsets)):
            strays.pop()
        self.remove_all(strays)


def _find(directory: Path) -> Iterator[int]:
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries]
    for name in map(parse_file_name, names):
        if name.kind is FileKind.PRODUCER_SNAPSHOT and name.fate is FileFate.LIVE and name.base_offset is not None:
            yield name.base_offset


class PreparedSnapshots(ProducerSnapshots):
    """Keeps all removals and writes for `carry_out`. What was written meanwhile cannot be read before that."""

    def __init__(self, snapshots: ProducerSnapshots) -> None:
        """Begin with the files as they are."""
        self._snapshots = snapshots
        self.directory: Path = snapshots.directory
        self._offsets = list(snapshots.offsets)
        self._steps: list[Callable[[], object]] = []

    def write_encoded(self, offset: int, data: bytes, *, sync: bool = True) -> None:
        """Write one later."""
        self._steps.append(partial(self._snapshots.write_encoded, offset, data, sync=sync))
        self._offsets = sorted({*self._offsets, offset})

    def remove(self, offset: int) -> None:
        """Remove one later."""
        self._steps.append(partial(self._snapshots.remove, offset))
        self._offsets = [each for each in self._offsets if each != offset]

    def carry_out(self) -> ProducerSnapshots:
        """Do all of it, in this order; return the snapshots as they are now. Raises OSError."""
        for step in self._steps:
            step()
        return self._snapshots
