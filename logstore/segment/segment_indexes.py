"""The three indexes of a segment that is in use, each read from its file on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from logstore import indexes
from logstore.file_name import INDEX_KINDS, FileKind, file_name
from logstore.indexes.live_offset_index import LiveOffsetIndex
from logstore.indexes.live_time_index import LiveTimeIndex

if TYPE_CHECKING:
    from pathlib import Path

    from epoch.filesystem import FileSystem
    from logstore.indexes.live_transaction_index import LiveTransactionIndex
    from logstore.indexes.transaction_index import AbortedTransaction

T = TypeVar("T")


class SegmentIndexes:
    """Where a segment has its offsets, timestamps and aborted transactions.

    One thread changes them; others may look things up meanwhile. Who of several comes first has read the one that all
    use from then on: the writer may have changed it while the others were still reading.
    """

    __slots__ = (
        "_base_offset",
        "_directory",
        "_filesystem",
        "_loaded",
        "_max_bytes",
        "_offset",
        "_time",
        "_transactions",
        "suffix",
    )

    def __init__(
        self, directory: Path, base_offset: int, max_bytes: int, filesystem: FileSystem, suffix: str = ""
    ) -> None:
        """Read nothing yet; `max_bytes` is `segment_index_bytes`."""
        self._directory = directory
        self._base_offset = base_offset
        self._max_bytes = max_bytes
        self._filesystem = filesystem
        self._offset: LiveOffsetIndex | None = None
        self._time: LiveTimeIndex | None = None
        self._transactions: LiveTransactionIndex | None = None
        self.suffix: str = suffix
        """What follows the names of the segment's files: that of deleted ones, once it is deleted."""
        self._loaded: dict[FileKind, Any] = {}
        """Those that were read from their files."""

    def begin(self) -> None:
        """Remove the files that a crash left behind, and begin with no entries. Raises OSError."""
        for kind in INDEX_KINDS:
            if self._path(kind).exists():
                self._filesystem.unlink(self._path(kind))
        # There are no files to look for, and appends need not open any.
        base_offset, size, filesystem = self._base_offset, self._max_bytes, self._filesystem
        self._offset = LiveOffsetIndex(self._path(FileKind.OFFSET_INDEX), base_offset, size, filesystem)
        self._time = LiveTimeIndex(self._path(FileKind.TIME_INDEX), base_offset, size, filesystem)

    def take(self, offsets: bytes, times: bytes, aborted: tuple[AbortedTransaction, ...]) -> None:
        """Use these instead of what is in the files; the first two as their files' bytes. Raises CorruptIndexError."""
        base_offset, size, filesystem = self._base_offset, self._max_bytes, self._filesystem
        self._offset = LiveOffsetIndex(self._path(FileKind.OFFSET_INDEX), base_offset, size, filesystem, offsets)
        self._time = LiveTimeIndex(self._path(FileKind.TIME_INDEX), base_offset, size, filesystem, times)
        self._transactions = indexes.live_transaction_index.LiveTransactionIndex(
            self._path(FileKind.TRANSACTION_INDEX), filesystem, aborted
        )

    @property
    def offset(self) -> LiveOffsetIndex:
        """Where to look for an offset. Raises OSError, CorruptIndexError on its first use."""
        index = self._offset
        if index is None:
            path = self._path(FileKind.OFFSET_INDEX)
            loaded = LiveOffsetIndex.open(path, self._base_offset, self._max_bytes, self._filesystem)
            index = self._offset = self._first_loaded(FileKind.OFFSET_INDEX, loaded)
        return index

    @property
    def time(self) -> LiveTimeIndex:
        """Where to look for a timestamp. Raises OSError, CorruptIndexError on its first use."""
        index = self._time
        if index is None:
            path = self._path(FileKind.TIME_INDEX)
            loaded = LiveTimeIndex.open(path, self._base_offset, self._max_bytes, self._filesystem)
            index = self._time = self._first_loaded(FileKind.TIME_INDEX, loaded)
        return index

    @property
    def transactions(self) -> LiveTransactionIndex:
        """The aborted transactions. Raises OSError, CorruptIndexError on its first use."""
        index = self._transactions
        if index is None:
            loaded = indexes.live_transaction_index.LiveTransactionIndex.open(
                self._path(FileKind.TRANSACTION_INDEX), self._filesystem
            )
            index = self._transactions = self._first_loaded(FileKind.TRANSACTION_INDEX, loaded)
        return index

    @property
    def room(self) -> int:
        """How many entries both the offset and the time index still take."""
        return min(self.offset.room, self.time.room)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries that reach `offset`. Raises OSError, CorruptIndexError."""
        self.offset.truncate_to(offset)
        self.time.truncate_to(offset)
        self.transactions.truncate_to(offset)

    def take_back_time(self, offset: int) -> None:
        """Remove an entry of the time index that was interrupted, if it was in use. Raises OSError."""
        if self._time is not None:
            self._time.truncate_to(offset)

    def save(self, *, sync: bool = False) -> None:
        """Bring the files of the offset and time index up to date; `sync` as for them. Raises OSError."""
        for index in (self._offset, self._time):
            if index is not None:
                index.save(sync=sync)

    def encode(self, largest_timestamp: int, offset_of_largest: int) -> dict[FileKind, bytes]:
        """Return what the files would hold if the segment were closed now. Raises OSError, CorruptIndexError."""
        return {
            FileKind.OFFSET_INDEX: self.offset.encode(),
            FileKind.TIME_INDEX: self.time.encode_completed(largest_timestamp, offset_of_largest),
            FileKind.TRANSACTION_INDEX: self.transactions.encode(),
        }

    def flush(self) -> None:
        """Return once all entries are on stable storage. Raises OSError.

        An index that was not read has had no entry added, and was synced by the process that made its file, or by
        recovery.
        """
        self.save(sync=True)
        if self._transactions is not None:
            self._transactions.flush()

    def _first_loaded(self, kind: FileKind, index: T) -> T:
        """Return the index that was loaded first, which may be another thread's."""
        # One step for all threads, which needs no lock: a signal handler or a forked process would wait for that.
        first: T = self._loaded.setdefault(kind, index)
        return first

    def _path(self, kind: FileKind) -> Path:
        return self._directory / (file_name(kind, self._base_offset) + self.suffix)
