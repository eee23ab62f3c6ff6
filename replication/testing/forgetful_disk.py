"""A disk that forgets what was not flushed to it, as a machine does that loses power."""

from pathlib import Path
from typing import Final

from epoch.filesystem import FileSystem


class ForgetfulDisk(FileSystem):
    """The real disk, and how much of each file is on stable storage.

    Only the ends of files are forgotten: what was renamed, made or removed stays so, as with file systems that order
    these.
    """

    def __init__(self) -> None:
        """Know of no file: what is there already is safe."""
        self._safe: Final[dict[Path, int]] = {}
        """How many bytes of each file that was written to have been flushed."""
        self._paths: Final[dict[int, Path]] = {}

    def lose(self) -> int:
        """Cut off what was not flushed, once nobody writes any more; return how many bytes that was."""
        lost = 0
        for path, size in self._safe.items():
            if path.exists() and path.stat().st_size > size:
                lost += path.stat().st_size - size
                super().truncate(path, size)
        self._safe.clear()
        return lost

    def open(self, path: Path, *, truncate: bool = False) -> int:
        """Open a file, of which what is there counts as safe unless it was written through this disk."""
        descriptor = super().open(path, truncate=truncate)
        self._paths[descriptor] = path
        if truncate:
            self._safe[path] = 0
        return descriptor

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        """Append."""
        path = self._paths[descriptor]
        if path not in self._safe:
            self._safe[path] = path.stat().st_size
        super().write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        """Make what is there safe."""
        super().fsync(descriptor)
        path = self._paths[descriptor]
        if path.exists():
            self._safe[path] = path.stat().st_size

    def close(self, descriptor: int) -> None:
        """Give the descriptor back; what was not flushed is not for that."""
        super().close(descriptor)
        self._paths.pop(descriptor, None)

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file, or a directory with all that is in it."""
        super().rename(source, target)
        for path in [each for each in self._safe if each == source or source in each.parents]:
            self._safe[target / path.relative_to(source)] = self._safe.pop(path)
        for descriptor, path in self._paths.items():
            if path == source or source in path.parents:
                self._paths[descriptor] = target / path.relative_to(source)

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file."""
        super().truncate(path, size)
        if path in self._safe:
            self._safe[path] = min(self._safe[path], size)

    def unlink(self, path: Path) -> None:
        """Remove a file."""
        super().unlink(path)
        self._safe.pop(path, None)
