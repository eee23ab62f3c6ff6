"""The real disk, and a record of every step that changed it, from which crashes can be worked out afterwards."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path

from epoch.filesystem import FileSystem


@dataclass(frozen=True, slots=True)
class Made:
    """A file or directory came to be, empty."""

    inode: int
    path: Path
    is_directory: bool = False


@dataclass(frozen=True, slots=True)
class Wrote:
    """Bytes were added at the end of a file."""

    inode: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Overwrote:
    """Bytes of a file were replaced, within one sector."""

    inode: int
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """A file was cut to its first `size` bytes."""

    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    """A file's content reached stable storage."""

    inode: int


@dataclass(frozen=True, slots=True)
class Renamed:
    """A name changed, within its directory."""

    source: Path
    target: Path


@dataclass(frozen=True, slots=True)
class Linked:
    """A file has a second name."""

    inode: int
    path: Path


@dataclass(frozen=True, slots=True)
class Removed:
    """A name is gone."""

    path: Path


@dataclass(frozen=True, slots=True)
class SyncedDirectory:
    """The names in a directory reached stable storage."""

    path: Path


@dataclass(frozen=True, slots=True)
class Told:
    """No step of the disk: what the program knew from here on, for those who look at a crash."""

    fact: object


Step = Made | Wrote | Overwrote | Cut | Synced | Renamed | Linked | Removed | SyncedDirectory | Told


class RecordingDisk(FileSystem):
    """Does what it is told, and notes it. All must happen below directories that were made through it."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._numbers = count()
        self._inodes: dict[Path, int] = {}
        self._opened: dict[int, int] = {}

    def tell(self, fact: object) -> None:
        """Note something that is true from here on."""
        self.steps.append(Told(fact))

    def open(self, path: Path, *, truncate: bool = False) -> int:
        descriptor = super().open(path, truncate=truncate)
        if path not in self._inodes:
            self._make(path)
        elif truncate:
            self.steps.append(Cut(self._inodes[path], 0))
        self._opened[descriptor] = self._inodes[path]
        return descriptor

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        super().write(descriptor, data)
        self.steps.append(Wrote(self._opened[descriptor], bytes(data)))

    def overwrite(self, path: Path, position: int, data: bytes, *, sync: bool = False) -> None:
        super().overwrite(path, position, data, sync=sync)
        inode = self._inodes[path] if path in self._inodes else self._make(path)
        self.steps.append(Overwrote(inode, position, data))
        if sync:
            self.steps.append(Synced(inode))

    def fsync(self, descriptor: int) -> None:
        super().fsync(descriptor)
        self.steps.append(Synced(self._opened[descriptor]))

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        del self._opened[descriptor]

    def rename(self, source: Path, target: Path) -> None:
        assert source.parent == target.parent
        super().rename(source, target)
        self.steps.append(Renamed(source, target))
        moved = {path: target / path.relative_to(source) for path in self._inodes if path.is_relative_to(source)}
        self._inodes |= {moved[path]: self._inodes.pop(path) for path in moved}

    def copy(self, source: Path, target: Path) -> None:
        super().copy(source, target)
        self.steps.append(Wrote(self._make(target), target.read_bytes()))

    def link(self, source: Path, target: Path) -> None:
        super().link(source, target)
        self._inodes[target] = self._inodes[source]
        self.steps.append(Linked(self._inodes[source], target))

    def truncate(self, path: Path, size: int) -> None:
        super().truncate(path, size)
        self.steps.append(Cut(self._inodes[path], size))

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        if self._inodes.pop(path, None) is not None:  # locks are made past the disk
            self.steps.append(Removed(path))

    def mkdir(self, path: Path) -> None:
        super().mkdir(path)
        self._make(path, is_directory=True)

    def rmdir(self, path: Path) -> None:
        super().rmdir(path)
        del self._inodes[path]
        self.steps.append(Removed(path))

    def fsync_directory(self, path: Path) -> None:
        super().fsync_directory(path)
        self.steps.append(SyncedDirectory(path))

    def _make(self, path: Path, *, is_directory: bool = False) -> int:
        inode = self._inodes[path] = next(self._numbers)
        self.steps.append(Made(inode, path, is_directory))
        return inode
