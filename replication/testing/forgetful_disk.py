"""A disk that forgets what was not flushed to it, as a machine does that loses power."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from epoch.filesystem import FileSystem


@dataclass(slots=True, eq=False)
class _File:
    path: Path
    safe_bytes: int | None = None
    """How many have been flushed; None: all that are there."""


class ForgetfulDisk(FileSystem):
    """The real disk, and how much of each file is on stable storage.

    Only the ends of files are forgotten: what was renamed, made or removed stays so, as with file systems that order
    these.
    """

    def __init__(self) -> None:
        """Know of no file: what is there already is safe."""
        self._files: Final[dict[Path, _File]] = {}
        self._open: Final[dict[int, _File]] = {}
        """By descriptor. Any thread changes these two, so nobody iterates over them themselves."""

    def lose(self) -> int:
        """Cut off what was not flushed, once nobody writes any more; return how many bytes that was."""
        lost = 0
        for file in tuple(self._files.values()):
            if file.safe_bytes is not None and file.path.exists():
                unsafe_bytes = file.path.stat().st_size - file.safe_bytes
                if unsafe_bytes > 0:
                    lost += unsafe_bytes
                    super().truncate(file.path, file.safe_bytes)
        self._files.clear()
        return lost

    def open(self, path: Path, *, truncate: bool = False) -> int:
        """Open a file, of which what is there counts as safe unless it was written through this disk."""
        descriptor = super().open(path, truncate=truncate)
        file = self._open[descriptor] = self._files.setdefault(path, _File(path))
        if truncate:
            file.safe_bytes = 0
        return descriptor

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        """Append."""
        file = self._open[descriptor]
        if file.safe_bytes is None:
            file.safe_bytes = os.fstat(descriptor).st_size
        super().write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        """Make what is there safe."""
        super().fsync(descriptor)
        self._open[descriptor].safe_bytes = os.fstat(descriptor).st_size

    def close(self, descriptor: int) -> None:
        """Give the descriptor back; what was not flushed is not for that."""
        del self._open[descriptor]  # first: another thread may be given the same number
        super().close(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file, or a directory with all that is in it."""
        super().rename(source, target)
        if target.is_dir():
            for path in tuple(self._files):
                if source in path.parents:
                    self._move(path, target / path.relative_to(source))
        else:
            self._move(source, target)

    def _move(self, source: Path, target: Path) -> None:
        file = self._files.pop(source, None)
        if file is None:
            self._files.pop(target, None)
        else:
            file.path = target
            self._files[target] = file

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file."""
        super().truncate(path, size)
        file = self._files.get(path)
        if file is not None and file.safe_bytes is not None:
            file.safe_bytes = min(file.safe_bytes, size)

    def unlink(self, path: Path) -> None:
        """Remove a file."""
        super().unlink(path)
        self._files.pop(path, None)
