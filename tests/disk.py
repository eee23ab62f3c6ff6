"""Disks for tests: the real one, but for the steps that a test chooses."""

import errno
import os
from enum import Enum
from pathlib import Path

from epoch.filesystem import FileSystem


class Failure(Enum):
    """What a failing step does."""

    BROKEN = errno.EIO
    FULL = errno.ENOSPC
    READ_ONLY = errno.EROFS
    SHORT = -errno.ENOSPC
    """A write takes half of its bytes, and then there is no space; other steps just fail."""
    SHORT_AND_BROKEN = -errno.EIO

    @property
    def number(self) -> int:
        """The system's number of the error."""
        return abs(self.value)

    @property
    def is_short(self) -> bool:
        """Whether a part of what is written reaches the file."""
        return self.value < 0


class FailingDisk(FileSystem):
    """The real disk, whose n-th step fails, once."""

    def __init__(self, fail_at: int, failure: Failure = Failure.FULL) -> None:
        self.steps_left = fail_at
        self.failure = failure
        self.failed = ""
        """The step that failed, and the name of its file."""

    def open(self, path: Path, *, truncate: bool = False) -> int:
        self._named_step("open", path)
        return super().open(path, truncate=truncate)

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        if self.steps_left == 1 and self.failure.is_short:
            super().write(descriptor, memoryview(data)[: len(data) // 2])
        self._step("write", _path_of(descriptor))
        super().write(descriptor, data)

    def overwrite(self, path: Path, position: int, data: bytes, *, sync: bool = False) -> None:
        self._named_step("overwrite", path)
        super().overwrite(path, position, data, sync=sync)

    def fsync(self, descriptor: int) -> None:
        self._step("fsync", _path_of(descriptor))
        super().fsync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        self._named_step("rename", source)
        super().rename(source, target)

    def copy(self, source: Path, target: Path) -> None:
        self._named_step("copy", target)
        super().copy(source, target)

    def link(self, source: Path, target: Path) -> None:
        self._named_step("link", target)
        super().link(source, target)

    def set_modified(self, path: Path, modified_ns: int) -> None:
        self._named_step("set the time of", path)
        super().set_modified(path, modified_ns)

    def truncate(self, path: Path, size: int) -> None:
        self._named_step("truncate", path)
        super().truncate(path, size)

    def unlink(self, path: Path) -> None:
        self._named_step("unlink", path)
        super().unlink(path)

    def mkdir(self, path: Path) -> None:
        self._named_step("mkdir", path)
        super().mkdir(path)

    def rmdir(self, path: Path) -> None:
        self._named_step("rmdir", path)
        super().rmdir(path)

    def fsync_directory(self, path: Path) -> None:
        self._named_step("fsync directory", path)
        super().fsync_directory(path)

    def _named_step(self, name: str, path: Path) -> None:
        try:
            self._step(name, path)
        except OSError as error:
            error.filename = str(path)
            raise

    def _step(self, name: str, path: Path) -> None:
        """Fail, or not; a system call on a descriptor names no file."""
        self.steps_left -= 1
        if self.steps_left == 0:
            self.failed = f"{name} {path.name}"
            raise OSError(self.failure.number, os.strerror(self.failure.number))


class FullDisk(FailingDisk):
    """The real disk, on which there is no space any more from the n-th step on."""

    def _step(self, name: str, path: Path) -> None:
        self.steps_left = max(self.steps_left, 1)
        super()._step(name, path)


def _path_of(descriptor: int) -> Path:
    """Find the file behind a descriptor, whoever opened it."""
    return Path(f"/proc/self/fd/{descriptor}").readlink()


class NamingDisk(FileSystem):
    """The real disk, and its steps by the name of the file or directory."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self._opened: dict[int, str] = {}

    def open(self, path: Path, *, truncate: bool = False) -> int:
        descriptor = super().open(path, truncate=truncate)
        self._opened[descriptor] = path.name
        return descriptor

    def fsync(self, descriptor: int) -> None:
        super().fsync(descriptor)
        self.steps.append(f"sync {self._opened[descriptor]}")

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self.steps.append(f"close {self._opened.pop(descriptor)}")

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self.steps.append(f"rename {source.name} {target.name}")

    def truncate(self, path: Path, size: int) -> None:
        super().truncate(path, size)
        self.steps.append(f"cut {path.name}")

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self.steps.append(f"unlink {path.name}")

    def fsync_directory(self, path: Path) -> None:
        super().fsync_directory(path)
        self.steps.append(f"sync {path.name}")


class FullAtSyncs(FileSystem):
    """Finds no space for what was written as late as on syncing it, as network file systems and thin volumes do."""

    is_full = False

    def fsync(self, descriptor: int) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().fsync(descriptor)


class Unsynced(FileSystem):
    """The real disk, which nobody waits for: for tests in which nothing crashes."""

    def fsync(self, descriptor: int) -> None:
        del descriptor

    def fsync_directory(self, path: Path) -> None:
        del path
