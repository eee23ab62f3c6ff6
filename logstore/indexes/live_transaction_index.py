"""The aborted transactions that end in a segment that is in use (Kafka: TransactionIndex)."""

from pathlib import Path
from typing import Self

from epoch.filesystem import REAL, FileSystem
from logstore.indexes.transaction_index import ENTRY_BYTES, AbortedTransaction, TransactionIndex


class LiveTransactionIndex:
    """Entries reach the file at once: there are few, and the file exists only where there are any."""

    __slots__ = ("_entries", "_filesystem", "_unsynced", "path")

    def __init__(self, path: Path, filesystem: FileSystem = REAL, entries: tuple[AbortedTransaction, ...] = ()) -> None:
        """Create an index with the file's `entries`."""
        self.path: Path = path
        self._filesystem = filesystem
        self._entries = entries
        self._unsynced = False

    @classmethod
    def open(cls, path: Path, filesystem: FileSystem = REAL) -> Self:
        """Read the file, which may be missing. Raises OSError, CorruptIndexError."""
        try:
            return cls(path, filesystem, TransactionIndex.read(path).entries)
        except FileNotFoundError:
            return cls(path, filesystem)

    @property
    def entries(self) -> tuple[AbortedTransaction, ...]:
        """The entries in the order of their abort markers."""
        return self._entries

    def encode(self) -> bytes:
        """Return the file's bytes with all entries."""
        return b"".join(entry.encode() for entry in self._entries)

    def append(self, transaction: AbortedTransaction) -> None:
        """Write one more entry. Raises OSError."""
        descriptor = self._filesystem.open(self.path)
        try:
            self._filesystem.write(descriptor, transaction.encode())
        finally:
            self._filesystem.close(descriptor)
        self._unsynced = True
        self._entries = (*self._entries, transaction)

    def overlapping(self, first_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """Return the transactions with records in [first_offset, end_offset), and whether later segments have none.

        Kafka: collectAbortedTxns.
        """
        found = []
        for entry in self._entries:
            if entry.last_offset >= first_offset and entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable_offset >= end_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions that end at `offset` or later. Raises OSError."""
        kept = next((n for n, entry in enumerate(self._entries) if entry.last_offset >= offset), len(self._entries))
        if kept < len(self._entries):
            self._filesystem.truncate(self.path, kept * ENTRY_BYTES)
            self._entries = self._entries[:kept]
            self._unsynced = True

    def flush(self) -> None:
        """Return once the entries are on stable storage. Raises OSError."""
        if self._unsynced:
            descriptor = self._filesystem.open(self.path)
            try:
                self._filesystem.fsync(descriptor)
            finally:
                self._filesystem.close(descriptor)
            self._unsynced = False
