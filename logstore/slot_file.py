"""A segment's index file on disk, brought after its entries in memory when the segment is flushed, rolled or closed."""

from collections.abc import Callable
from pathlib import Path

from epoch.filesystem import FileSystem


class SlotFile:
    """A file of fixed slots that only grows at its end and is cut there."""

    __slots__ = ("_bytes", "_filesystem", "_saved", "_slot", "_unsynced", "path")

    def __init__(self, path: Path, slot: int, filesystem: FileSystem, *, saved: int = 0, file_bytes: int = -1) -> None:
        """Take over a file of `file_bytes` bytes whose first `saved` slots are entries; -1 where there is no file."""
        self.path = path
        self._slot = slot
        self._filesystem = filesystem
        self._saved = saved
        self._bytes = file_bytes
        self._unsynced = False

    def save(self, entries: int, encode: Callable[[int], bytes], *, sync: bool) -> None:
        """Let the file hold `entries` entries; `encode(first)` gives the bytes of those from `first` on.

        With `sync` they are on stable storage then. Raises OSError. A failure in between leaves the file to be written
        anew by the next call.
        """
        is_saved = self._bytes >= 0 and self._bytes == self._saved * self._slot and self._saved == entries
        if is_saved and not (sync and self._unsynced):
            return
        if self._bytes > self._saved * self._slot:
            # Zeros follow the entries. They are cut off, as a crash must not take the entries along.
            self._filesystem.truncate(self.path, self._saved * self._slot)
            self._bytes = self._saved * self._slot
        whole = self._bytes < 0
        first = 0 if whole else self._saved
        self._bytes, self._saved, self._unsynced = -1, 0, True
        descriptor = self._filesystem.open(self.path, truncate=whole)
        try:
            if not is_saved:
                self._filesystem.write(descriptor, encode(first))
            if sync:
                self._filesystem.fsync(descriptor)
                self._unsynced = False
        finally:
            self._filesystem.close(descriptor)
        self._saved, self._bytes = entries, entries * self._slot

    def cut(self, entries: int) -> None:
        """Drop the saved slots after the first `entries`. Raises OSError."""
        if self._saved > entries:
            self._filesystem.truncate(self.path, entries * self._slot)
            self._saved, self._bytes, self._unsynced = entries, entries * self._slot, True

    def renamed(self, path: Path) -> None:
        """Follow the file to its new name."""
        self.path = path
