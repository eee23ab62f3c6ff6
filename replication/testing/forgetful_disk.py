"""A disk that forgets what was not flushed to it, as a machine does that loses power."""

import os
from pathlib import Path
from threading import RLock
from typing import Final

from epoch.filesystem import FileSystem
from replication.testing.flushed_files import FileKey, FlushedFiles


class ForgetfulDisk(FileSystem):
    """The real disk, and how much of each file is on stable storage.

    Only the ends of files are forgotten: what was renamed, made or removed stays so, as with file systems that order
    these. What was copied counts as safe. Any thread may call it.

    >>> disk = ForgetfulDisk(Path("broker-1.flushed"))  # in a process that is killed then
    >>> ForgetfulDisk(Path("broker-1.flushed")).lose()  # in another one
    """

    def __init__(self, journal: Path | None = None) -> None:
        """Know of no file: what is there already is safe.

        With a journal, a file outside of the directories that are written, it goes on with what an earlier disk has put
        there. So what a process had not flushed can be lost after it was killed, or after another one that came after
        it. Raises OSError.
        """
        self._files: Final = FlushedFiles(journal)
        self._noting: Final = RLock()

    def lose(self) -> int:
        """Cut off what was not flushed, once nobody writes any more; return how many bytes that was."""
        lost = 0
        with self._noting:
            for path in self._files.paths():
                status = path.stat()
                safe_bytes = self._files.safe_bytes(FileKey.of(status))
                if safe_bytes is not None and status.st_size > safe_bytes:
                    lost += status.st_size - safe_bytes
                    super().truncate(path, safe_bytes)
            self._files.clear()
        return lost

    def close_journal(self) -> None:
        """Give the journal's descriptor back; nothing may be written through this disk any more."""
        self._files.close()

    def open(self, path: Path, *, truncate: bool = False) -> int:
        """Open a file, of which what is there counts as safe unless it was written through this disk."""
        with self._noting:
            self._files.add_place(path.parent.absolute())
            is_new = not path.exists()
            descriptor = super().open(path, truncate=truncate)
            key = FileKey.of(os.fstat(descriptor))
            if truncate:
                self._files.put(key, 0)
            elif is_new:  # its number may have been that of one that is gone
                self._files.forget(key)
        return descriptor

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        """Append."""
        with self._noting:
            status = os.fstat(descriptor)
            key = FileKey.of(status)
            if self._files.safe_bytes(key) is None:
                self._files.put(key, status.st_size)
        super().write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        """Make what is there safe; what another thread appends meanwhile is not."""
        size = os.fstat(descriptor).st_size
        super().fsync(descriptor)
        with self._noting:
            status = os.fstat(descriptor)
            key = FileKey.of(status)
            self._files.put(key, min(status.st_size, max(size, self._files.safe_bytes(key) or 0)))

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file, or a directory with all that is in it."""
        with self._noting:
            self._files.add_place((target if source.is_dir() else target.parent).absolute())
        super().rename(source, target)

    def copy(self, source: Path, target: Path) -> None:
        """Make a new file, which is safe."""
        super().copy(source, target)
        with self._noting:
            self._files.forget(FileKey.of(target.stat()))

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file."""
        with self._noting:
            super().truncate(path, size)
            key = FileKey.of(path.stat())
            safe_bytes = self._files.safe_bytes(key)
            if safe_bytes is not None:
                self._files.put(key, min(safe_bytes, size))
