"""Whether a file is still the one that was listed: rows of two states of a log are never mixed."""

from pathlib import Path
from typing import NamedTuple, Self

from replication.errors import SnapshotChangedError


class FileState(NamedTuple):
    """What changes with a file's contents."""

    size: int
    """Bytes."""
    modified_ns: int
    """Nanoseconds since 1970 UTC."""
    inode: int

    @classmethod
    def of(cls, file: Path) -> Self:
        """Look at a file. Raises SnapshotChangedError where it is gone, and OSError."""
        try:
            stat = file.stat()
        except FileNotFoundError as error:
            raise SnapshotChangedError(file, "it is gone") from error
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ino)

    def ensure_same(self, file: Path, *, may_grow: bool) -> None:
        """Raise SnapshotChangedError where a file is no longer like this; one that may grow may have done so."""
        now = FileState.of(file)
        if now.size < self.size:
            raise SnapshotChangedError(file, f"it had {self.size:,} bytes, and has {now.size:,}")
        has_grown = may_grow and now.size > self.size and now.inode == self.inode
        if now != self and not has_grown:
            raise SnapshotChangedError(file, "it was written to, or replaced")
