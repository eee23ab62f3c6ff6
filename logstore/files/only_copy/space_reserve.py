"""Space that a log keeps for what a full disk must not prevent: deleting records, and being closed and opened."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from epoch.filesystem import FileSystem
from epoch.resource_limits import OUT_OF_SPACE

RESERVE_NAME: Final = ".reserve"
RESERVE_BYTES: Final = 32 << 10
"""Room for a few small files. Each mostly replaces one of its size, so that it is there again at once."""

T = TypeVar("T")


class SpaceReserve:
    """A file without meaning, removed for as long as what must be written finds no space without."""

    def __init__(self, directory: Path, filesystem: FileSystem) -> None:
        """Make nothing yet."""
        self._path = directory / RESERVE_NAME
        self._filesystem = filesystem

    def fill(self) -> None:
        """Let the file be of its full size, or as large as there is space: it is no failure where there is none."""
        with suppress(OSError):
            size = self._path.stat().st_size if self._path.exists() else 0
            if size < RESERVE_BYTES:
                self._extend(RESERVE_BYTES - size)

    def spend(self, call: Callable[[], T]) -> T:
        """Call; once more where that finds no space, with what is kept. Each step of `call` may be done again."""
        try:
            return call()
        except OSError as error:
            if error.errno not in OUT_OF_SPACE or not self._path.exists():
                raise
        self._filesystem.unlink(self._path)
        try:
            return call()
        finally:
            self.fill()

    def _extend(self, size: int) -> None:
        descriptor = self._filesystem.open(self._path)
        try:
            # What cannot be compressed: zeros may take no space.
            self._filesystem.write(descriptor, os.urandom(size))
            self._filesystem.fsync(descriptor)
        finally:
            self._filesystem.close(descriptor)
