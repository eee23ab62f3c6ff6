"""A disk of so many blocks: what finds no space left fails, after as much of it as fits was written."""

import errno
import os
from pathlib import Path

from epoch.filesystem import FileSystem
from tests.recording_disk import RecordingDisk

BLOCK = 4096


class BoundedDisk(FileSystem):
    """Holds `blocks` in all files beneath `path`; whatever is removed or cut gives its blocks back at once."""

    def __init__(self, path: Path, blocks: int) -> None:
        super().__init__()
        self.path = path
        self.blocks = blocks

    @property
    def free_blocks(self) -> int:
        """How many blocks are free."""
        sizes = (path.stat().st_size for path in self.path.rglob("*") if path.is_file())
        return self.blocks - sum(map(_blocks, sizes))

    def fill(self) -> None:
        """Let others take all that is free."""
        self.blocks -= self.free_blocks

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        size = os.fstat(descriptor).st_size
        room = max((_blocks(size) + self.free_blocks) * BLOCK - size, 0)
        super().write(descriptor, bytes(data[:room]))
        if len(data) > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class BoundedRecordingDisk(BoundedDisk, RecordingDisk):
    """Such a disk, and a record of every step."""


def _blocks(size: int) -> int:
    return -(-size // BLOCK)
