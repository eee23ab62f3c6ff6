"""Whether a file is still the one that was listed: rows of two states of a log are never mixed."""

from pathlib import Path
from typing import Final, NamedTuple, Self

import crc32c

from replication.base.errors import SnapshotChangedError

TAIL: Final = 4_096
"""Bytes before the end by which a log that was only appended to differs from one that was cut and written anew."""

_GONE: Final = "it is gone"


class FileState(NamedTuple):
    """What changes with a file's contents. Of a remote file the size alone is known."""

    size: int
    """Bytes."""
    may_grow: bool
    """Whether a broker may still append to it."""
    modified_ns: int | None = None
    """Nanoseconds since 1970 UTC."""
    inode: int | None = None
    tail: int | None = None
    """The checksum of its last bytes, where it may grow."""

    @classmethod
    def of(cls, file: Path, *, may_grow: bool) -> Self:
        """Look at a local file. Raises SnapshotChangedError where it is gone, and OSError."""
        try:
            stat = file.stat()
            tail = _tail(file, stat.st_size) if may_grow else None
        except FileNotFoundError as error:
            raise SnapshotChangedError(file, _GONE) from error
        return cls(stat.st_size, may_grow, stat.st_mtime_ns, stat.st_ino, tail)

    def ensure_same(self, file: Path, named: str) -> None:
        """Raise SnapshotChangedError where a file is no longer like this; one that may grow may have done so."""
        try:
            how = self._change_of(file)
        except FileNotFoundError:
            how = _GONE
        if how is not None:
            raise SnapshotChangedError(named, how)

    def _change_of(self, file: Path) -> str | None:
        now = file.stat()
        if now.st_size < self.size:
            return f"it had {self.size:,} bytes, and has {now.st_size:,}"
        if self.inode is None:
            is_same = self.may_grow or now.st_size == self.size
        elif now.st_size == self.size:
            is_same = (now.st_mtime_ns, now.st_ino) == (self.modified_ns, self.inode)
        else:
            is_same = self.may_grow and now.st_ino == self.inode and _tail(file, self.size) == self.tail
        return None if is_same else "it was written to, or replaced"


def _tail(file: Path, size: int) -> int:
    with file.open("rb") as opened:
        opened.seek(max(size - TAIL, 0))
        return crc32c.crc32c(opened.read(min(size, TAIL)))
