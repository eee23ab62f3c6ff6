"""The file system of one log or root, usable by the process that opened it and by no forked child."""

import os
from pathlib import Path
from typing import Final, NoReturn

from epoch.base.forked import detach_after_fork
from epoch.filesystem import FileSystem
from logstore.errors import LogStoreError

_STEPS: Final = (
    "write",
    "overwrite",
    "read_at",
    "fsync",
    "rename",
    "copy",
    "link",
    "set_modified",
    "truncate",
    "unlink",
    "mkdir",
    "rmdir",
    "fsync_directory",
)


class OwnedFileSystem(FileSystem):
    """Does what another does, until its process is forked: the child's copy refuses every step.

    A signal handler may fork in the middle of a call, and the child return from it: the call goes on there. Nothing
    of that reaches the files, not even a write that has its descriptor already.
    """

    def __init__(self, disk: FileSystem, refused: LogStoreError) -> None:
        """Do all by `disk`, and raise `refused` in a forked process."""
        self._refused = refused
        self._disk = disk
        self._descriptors: set[int] = set()
        for step in _STEPS:  # bound once: appends pay nothing for coming by here
            setattr(self, step, getattr(disk, step))
        detach_after_fork(self)

    @property
    def is_real(self) -> bool:
        """Whether the other one is: in a forked process descriptors lead to nothing, whoever writes to them."""
        return self._disk.is_real

    def open(self, path: Path, *, truncate: bool = False) -> int:
        """Open a file, and remember its descriptor."""
        descriptor = self._disk.open(path, truncate=truncate)
        try:
            self._descriptors.add(descriptor)
        except BaseException:  # of a signal handler: nobody else knows the descriptor yet
            self.close(descriptor)
            raise
        return descriptor

    def close(self, descriptor: int) -> None:
        """Close the descriptor."""
        try:
            self._descriptors.discard(descriptor)  # first: the number may be another file's as soon as it is closed
        except BaseException:  # of a signal handler, before it or after
            self._descriptors.discard(descriptor)
            raise
        finally:
            self._disk.close(descriptor)

    def detach(self) -> None:
        """Refuse all further steps, and redirect all descriptors to a file that cannot be written."""
        for step in ("open", *_STEPS):
            setattr(self, step, self._refuse)
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        for descriptor in self._descriptors - {nothing}:  # its number was free: that file is closed
            os.dup2(nothing, descriptor, inheritable=False)
        os.close(nothing)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise self._refused
