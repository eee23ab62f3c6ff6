"""Space that a log keeps for what a full disk must not prevent: deleting records, and being closed and opened."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Final, TypeVar

from epoch.base.resource_limits import OUT_OF_SPACE
from epoch.filesystem import FileSystem

RESERVE_NAME: Final = ".reserve"
RESERVE_BYTES: Final = 32 << 10
"""Room for a few small files. Each mostly replaces one of its size, so that it is there again at once."""
BYTES_PER_LOG: Final = 16 << 10
"""Room for the few that a log of a root may lack as it is opened or closed: a snapshot, indexes."""

T = TypeVar("T")


class SpaceReserve:
    """A file without meaning, removed for as long as what must be written finds no space without.

    The logs of a root share one: whoever needs it waits for who has it.
    """

    def __init__(self, directory: Path, filesystem: FileSystem) -> None:
        """Make nothing yet."""
        self._path = directory / RESERVE_NAME
        self._filesystem = filesystem
        self._size = RESERVE_BYTES
        self._lock = RLock()
        self.out_of_space: Callable[[OSError], object] = lambda _: None
        """Called with each error of a full disk that the reserve helps over."""

    def fill_for(self, logs: int) -> None:
        """Make the reserve large enough for a root of this many logs, and fill it."""
        self._size = RESERVE_BYTES + logs * BYTES_PER_LOG
        self.fill()

    def fill(self) -> None:
        """Extend the file to its full size, or as far as there is space: a full disk is no failure here."""
        with self._lock, suppress(OSError):
            size = self._path.stat().st_size if self._path.exists() else 0
            if size < self._size:
                self._extend(self._size - size)

    def spend(self, call: Callable[[], T]) -> T:
        """Call; once more where that finds no space, with what is kept. Each step of `call` may be done again."""
        try:
            return call()
        except OSError as error:
            if error.errno not in OUT_OF_SPACE:
                raise
            shortage = error
        self.out_of_space(shortage)
        with self._lock:
            if not self._path.exists():
                raise shortage
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
