"""One segment of a log that is in use: its `.log` file and the indexes beside it (Kafka: LogSegment)."""

from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from struct import Struct
from typing import Any, Final, Self, TypeVar

from epoch.filesystem import REAL, FileSystem
from logstore.append.append_info import AppendInfo
from logstore.append.plain_append import Buffer, follow_kernel
from logstore.batch.batch import HEADER_SIZE, LOG_OVERHEAD
from logstore.batch.batches import MAGIC_POSITION, Batch, read_batch, read_batches
from logstore.file_name import FileKind, file_name
from logstore.files.index_slots import MAX_RELATIVE_OFFSET
from logstore.indexes.live_offset_index import LiveOffsetIndex
from logstore.indexes.live_time_index import LiveTimeIndex
from logstore.indexes.live_transaction_index import LiveTransactionIndex
from logstore.indexes.time_index import TimeIndexEntry
from logstore.log_config import LogConfig
from logstore.segment.open_files import OpenFiles
from logstore.segment.read_view import ReadView
from logstore.segment.segment_file import SegmentFile

T = TypeVar("T")

DELETED_SUFFIX: Final = ".deleted"

# Base offset, length, magic, last offset delta: all that a walk from batch to batch looks at.
_HEADER: Final = Struct(">qi4xb6xi")
_HEADER_BYTES: Final = _HEADER.size
_unpack: Final = _HEADER.unpack_from
_TIMES: Final = Struct(">qi4xb6xi8xq")
"""As before, and the largest timestamp."""
_unpack_times: Final = _TIMES.unpack_from

_WALKED_BATCHES: Final = 4
"""To find the end of more batches than these the index is asked first."""
MANY_READS: Final = 1_000
"""After so many of a segment the compiled search is worth its loading."""
_NO_BYTES: Final = memoryview(b"")
_ENTRY: Final = array("q", (0, 0, 0, 0))
# Half the cost of calling a NamedTuple's class, once an append.
_build: Final = tuple.__new__


class LiveSegment:
    """Records from `base_offset` on, up to the next segment's first.

    One thread changes a segment; others may read it meanwhile, up to the size that they have looked up before. Its
    indexes are read from their files on first use, by whichever thread. Who of several comes first has read the one
    that all use from then on: the writer may have changed it while the others were still reading.
    """

    __slots__ = (
        "_bytes_since_index_entry",
        "_config",
        "_directory",
        "_filesystem",
        "_first_timestamp",
        "_index_room",
        "_largest",
        "_loaded",
        "_offset_index",
        "_reads",
        "_suffix",
        "_time_index",
        "_transaction_index",
        "base_offset",
        "created_ms",
        "file",
    )

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        config: LogConfig,
        filesystem: FileSystem = REAL,
        *,
        size: int = 0,
        created_ms: int = 0,
        open_files: OpenFiles | None = None,
    ) -> None:
        """Take over files as they are; see `create` and `load`."""
        self.base_offset = base_offset
        self.created_ms = created_ms
        """When it was made or loaded: an empty segment's age counts from here."""
        self._directory = directory
        self._config = config
        self._filesystem = filesystem
        self._suffix = ""
        self.file = SegmentFile(self._path(FileKind.LOG), size, filesystem=filesystem, open_files=open_files)
        self._offset_index: LiveOffsetIndex | None = None
        self._time_index: LiveTimeIndex | None = None
        self._transaction_index: LiveTransactionIndex | None = None
        self._loaded: dict[FileKind, Any] = {}
        """The indexes that were read from their files."""
        self._bytes_since_index_entry = 0
        self._largest: tuple[int, int] | None = None
        """Set by the writer alone; None until it needs it: the time index ends with it then."""
        self._first_timestamp: int | None = None
        self._reads = 0
        self._index_room = 0
        """At least so many entries fit into both indexes; 0 where nobody has counted."""

    @classmethod
    def create(
        cls,
        directory: Path,
        base_offset: int,
        config: LogConfig,
        filesystem: FileSystem = REAL,
        *,
        created_ms: int = 0,
        open_files: OpenFiles | None = None,
    ) -> Self:
        """Begin a new segment; files of that name that a crash left behind are removed. Raises OSError."""
        segment = cls(directory, base_offset, config, filesystem, created_ms=created_ms, open_files=open_files)
        for kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX):
            if segment._path(kind).exists():
                filesystem.unlink(segment._path(kind))
        segment.file.create()
        # There are no files to look for, and appends need not open any.
        size = config.segment_index_bytes
        segment._offset_index = LiveOffsetIndex(segment._path(FileKind.OFFSET_INDEX), base_offset, size, filesystem)
        segment._time_index = LiveTimeIndex(segment._path(FileKind.TIME_INDEX), base_offset, size, filesystem)
        return segment

    @classmethod
    def load(
        cls,
        directory: Path,
        base_offset: int,
        config: LogConfig,
        filesystem: FileSystem = REAL,
        *,
        created_ms: int = 0,
        open_files: OpenFiles | None = None,
    ) -> Self:
        """Take over the files of a segment that needs no recovery. Raises OSError."""
        size = (directory / file_name(FileKind.LOG, base_offset)).stat().st_size
        return cls(directory, base_offset, config, filesystem, size=size, created_ms=created_ms, open_files=open_files)

    def __repr__(self) -> str:
        return f"LiveSegment({self.path}, size={self.size})"

    # --- what it is

    @property
    def path(self) -> Path:
        """The `.log` file."""
        return self.file.path

    @property
    def size(self) -> int:
        """Bytes of the `.log` file."""
        return self.file.size

    @property
    def offset_index(self) -> LiveOffsetIndex:
        """Where to look for an offset. Raises OSError, CorruptIndexError on its first use."""
        index = self._offset_index
        if index is None:
            path, size = self._path(FileKind.OFFSET_INDEX), self._config.segment_index_bytes
            loaded = LiveOffsetIndex.open(path, self.base_offset, size, self._filesystem)
            index = self._offset_index = self._first_loaded(FileKind.OFFSET_INDEX, loaded)
        return index

    @property
    def time_index(self) -> LiveTimeIndex:
        """Where to look for a timestamp. Raises OSError, CorruptIndexError on its first use."""
        index = self._time_index
        if index is None:
            path, size = self._path(FileKind.TIME_INDEX), self._config.segment_index_bytes
            loaded = LiveTimeIndex.open(path, self.base_offset, size, self._filesystem)
            index = self._time_index = self._first_loaded(FileKind.TIME_INDEX, loaded)
        return index

    @property
    def transaction_index(self) -> LiveTransactionIndex:
        """The aborted transactions. Raises OSError, CorruptIndexError on its first use."""
        index = self._transaction_index
        if index is None:
            loaded = LiveTransactionIndex.open(self._path(FileKind.TRANSACTION_INDEX), self._filesystem)
            index = self._transaction_index = self._first_loaded(FileKind.TRANSACTION_INDEX, loaded)
        return index

    def _first_loaded(self, kind: FileKind, index: T) -> T:
        """Return the index that was loaded first, which may be another thread's."""
        # One step for all threads, which needs no lock: a signal handler or a forked process would wait for that.
        first: T = self._loaded.setdefault(kind, index)
        return first

    @property
    def largest(self) -> TimeIndexEntry:
        """The largest timestamp in ms, -1 without any, and the last offset of its batch (Kafka: maxTimestampSoFar)."""
        return _build(TimeIndexEntry, self._largest or self.time_index.last)

    def read_largest(self) -> None:
        """Know the largest timestamp from now on, as after recovery: a truncation then looks for what is left of it.

        Kafka does not look where it has not known it, which is so after an orderly start; neither do we.
        """
        self._largest = self.time_index.last

    @property
    def largest_timestamp(self) -> int:
        """In ms since 1970 UTC; without any, when the file was last written (Kafka: largestTimestamp)."""
        largest, _ = self._largest or self.time_index.last
        return largest if largest >= 0 else self.path.stat().st_mtime_ns // 1_000_000

    def batches(self, position: int = 0) -> Iterable[Batch]:
        """Walk over the batches from `position` on. Raises as `read_batches` does, and OSError."""
        return read_batches(self.file.data()[: self.size], position, str(self.path))

    @property
    def next_offset(self) -> int:
        """Return the offset after the last batch, reading from the last index entry on (Kafka: readNextOffset)."""
        end = self.base_offset
        for batch in self.batches(self.offset_index.last_position):
            end = batch.last_offset + 1
        return end

    # --- appending

    def should_roll(
        self, size: int, max_timestamp: int, last_offset: int, clock: Callable[[], int], jitter_ms: int
    ) -> bool:
        """Tell whether `size` more bytes up to `last_offset` belong into the next segment (Kafka: shouldRoll)."""
        config, mine = self._config, self.file.size
        if mine > config.segment_bytes - size or not 0 <= last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
            return True
        if mine:
            first = self._first_timestamp
            age = self._age(max_timestamp, clock) if first is None or first < 0 else max_timestamp - first
            if age > config.segment_ms - jitter_ms:
                return True
        return self._index_room <= 0 and self._is_index_full()

    def _is_index_full(self) -> bool:
        """Count how many entries both indexes take: so many batches need not ask."""
        self._index_room = min(self.offset_index.room, self.time_index.room)
        return self._index_room <= 0

    def append_batch(self, data: Buffer, info: AppendInfo, clock: Callable[[], int], jitter_ms: int) -> bool:
        """Write one batch; False, nothing written, where it belongs into the next segment. Raises as `append` does."""
        _, last_offset, max_timestamp, size, _ = info
        if self.should_roll(size, max_timestamp, last_offset, clock, jitter_ms):
            return False
        position = self.file.size
        self.file.append(data)
        self._note(position, size, last_offset, max_timestamp)
        return True

    def append(self, data: Buffer, batches: Iterable[tuple[int, int, int]]) -> None:
        """Write `data`, and note its batches in the indexes: size, last offset and largest timestamp of each.

        Raises OSError, nothing written.
        """
        position = self.file.size
        self.file.append(data)
        for size, last_offset, max_timestamp in batches:
            self._note(position, size, last_offset, max_timestamp)
            position += size

    def append_plain(
        self, data: Buffer, next_offset: int, leader_epoch: int, clock: Callable[[], int], jitter_ms: int
    ) -> AppendInfo | None:
        """Write plain batches; None, nothing written, where they are not plain or belong into the next segment.

        Raises OSError, nothing written.
        """
        size, position, interval = len(data), self.file.size, self._config.index_interval_bytes
        room = size // max(interval + 1, HEADER_SIZE) + 1
        entries = _ENTRY * room
        largest, offset_of_largest = self.largest
        rows, times, first, last, newest, indexed, largest, offset_of_largest = follow_kernel()(
            data,
            next_offset,
            leader_epoch,
            self.base_offset,
            position,
            position - self._bytes_since_index_entry,
            interval,
            largest,
            offset_of_largest,
            entries,
        )
        if rows < 0 or self.should_roll(size, newest, last, clock, jitter_ms) or rows > self._index_room:
            return None
        self.file.append(data)
        if rows:
            self.offset_index.extend(entries[:rows], entries[room : room + rows])
            self.time_index.extend(entries[2 * room : 2 * room + times], entries[3 * room : 3 * room + times])
            self._index_room -= rows
        self._bytes_since_index_entry = position + size - indexed
        self._largest = largest, offset_of_largest
        info: AppendInfo = _build(AppendInfo, (first, last, newest, size, False))
        return info

    def _note(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        """Note a batch that was written: its timestamp, and where it is if that is due."""
        known = self._largest
        if known is None:
            known = self._largest = self.time_index.last
        largest, offset_of_largest = known
        if max_timestamp > largest:
            self._largest = largest, offset_of_largest = max_timestamp, last_offset
        if self._bytes_since_index_entry > self._config.index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.append(largest, offset_of_largest)
            self._index_room -= 1
            self._bytes_since_index_entry = size
        else:
            self._bytes_since_index_entry += size

    def _age(self, timestamp: int, clock: Callable[[], int]) -> int:
        """Return the time from the first batch to `timestamp`; without times, since the segment was made."""
        first = self._first_timestamp
        if first is None:
            first = self._first_timestamp = read_batch(self.file.data()).max_timestamp
        return timestamp - first if first >= 0 else clock() - self.created_ms

    # --- reading

    def locate(self, offset: int, size: int) -> tuple[int, int, int] | None:
        """Find the first batch within the first `size` bytes that ends at or beyond `offset`.

        Return its position, size and base offset (Kafka: translateOffset). Raises OSError, and ValueError where a
        truncation takes the bytes away meanwhile.
        """
        data = self.file.data()
        position = self.offset_index.lookup(offset)
        while size - position >= _HEADER_BYTES:
            base_offset, length, magic, delta = _unpack(data, position)
            if magic < 2:
                break
            if base_offset + delta >= offset:
                return position, length + LOG_OVERHEAD, base_offset
            position += length + LOG_OVERHEAD
        return self._locate_legacy(offset, position, size) if position < size else None

    def _locate_legacy(self, offset: int, position: int, size: int) -> tuple[int, int, int] | None:
        for batch in read_batches(self.file.data()[:size], position, str(self.path)):
            if batch.last_offset >= offset:
                return batch.position, batch.size, batch.base_offset
        return None

    def read(self, offset: int, max_bytes: int, size: int, *, min_one_batch: bool) -> ReadView | None:
        """Return whole batches from the one that holds `offset` on, within the first `size` bytes; None without any.

        Raises as `locate` does.
        """
        if self._reads < MANY_READS:
            self._reads += 1
            found = self._find(offset, max_bytes, size)
        else:
            found = self._find_compiled(offset, max_bytes, size)
        if found is None:
            return None
        start, first_size, end = found
        if first_size > max_bytes and not min_one_batch:
            return ReadView(offset, _NO_BYTES, self.base_offset, start, max_bytes > 0)
        return ReadView(offset, self.file.data()[start:end], self.base_offset, start, False, self.ensure_gap)

    def ensure_gap(self, offset: int, end: int) -> None:
        """See that no batch before the position `end` holds `offset`: damaged headers lead over batches, too.

        Raises CorruptBatchError, and what `read_batches` raises.
        """
        for batch in read_batches(self.file.data()[:end], self.offset_index.lookup(offset), str(self.path)):
            batch.ensure_valid()

    def _find_compiled(self, offset: int, max_bytes: int, size: int) -> tuple[int, int, int] | None:
        """Do as `_find` does, in half the time."""
        if max_bytes < size:
            try:
                found = self.offset_index.find_batches(self.file.data(), offset, max_bytes, size)
            except ImportError:
                return self._find(offset, max_bytes, size)  # in a signal handler, while the search is just being loaded
            if found[0] >= 0:
                return found
        return self._find(offset, max_bytes, size)

    def _find(self, offset: int, max_bytes: int, size: int) -> tuple[int, int, int] | None:
        """Find the first batch to be read, its position and size, and where the last one ends."""
        place = self.locate(offset, size)
        if place is None:
            return None
        start, first_size, _ = place
        if first_size >= max_bytes:
            end = start + first_size
        elif max_bytes >= size - start:
            end = size
        else:
            end = self._last_end(start, first_size, start + max_bytes)
        return start, first_size, end

    def _last_end(self, start: int, first_size: int, limit: int) -> int:
        """Return where the last batch ends that ends at or before `limit`; the first one does."""
        data = self.file.data()
        position = start + first_size
        if limit - position > _WALKED_BATCHES * first_size:
            position = max(position, self.offset_index.floor_position(limit))
        while limit - position >= _HEADER_BYTES:
            end: int = position + _unpack(data, position)[1] + LOG_OVERHEAD
            if end > limit:
                break
            position = end
        return position

    # --- truncating, rolling, closing

    def prepare_truncation(self, offset: int) -> None:
        """Map the file and read the indexes, which a truncation could not do where memory has come to an end.

        Raises as `locate` does, and CorruptIndexError.
        """
        self.locate(offset, self.size)
        _ = self.time_index, self.transaction_index

    def truncate_to(self, offset: int, now_ms: int = 0) -> int:
        """Drop all batches that reach `offset`; return how many bytes that were. Raises OSError."""
        before = self.size
        place = self.locate(offset, before)
        # Kafka asks after the cut has taken the time index's only entry, and overlooks the records that are left.
        had_times = self.largest.timestamp >= 0
        self._cut_indexes(offset)
        if had_times:
            # Before the cut, which gives up the mapping: there may be no memory for another.
            self._largest = self._find_largest(before if place is None else place[0])
        if place is not None:
            self.file.truncate_to(place[0])
        if not self.size:
            self.created_ms = now_ms
            self._first_timestamp = None
        return before - self.size

    def take_back(self, size: int, end_offset: int) -> None:
        """Undo an append that was broken off: the segment has `size` bytes again, with batches before `end_offset`.

        Raises OSError. May be called again where it is broken off itself.
        """
        if self.size > size:
            # The indexes first: whether they may have entries too many is told by the size.
            self._cut_indexes(end_offset)
            self._largest = self._find_largest(size)
            if not size:
                self._first_timestamp = None
        elif self._time_index is not None:
            # What completes it before the next segment may have been broken off in the middle of an entry.
            self._time_index.truncate_to(end_offset)
        self.file.truncate_to(size)

    def _cut_indexes(self, offset: int) -> None:
        self._index_room = self._bytes_since_index_entry = 0
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)

    def _find_largest(self, size: int) -> TimeIndexEntry:
        """Look for a larger timestamp after the last entry of the time index (Kafka: readLargestTimestamp)."""
        last = self.time_index.last
        timestamp, offset = last
        data, position = self.file.data(), self.offset_index.lookup(last.offset)
        while position < size and data[position + MAGIC_POSITION] == 2:
            base_offset, length, _, delta, reached = _unpack_times(data, position)
            if reached > timestamp:
                timestamp, offset = reached, base_offset + delta
            position += length + LOG_OVERHEAD
        for batch in read_batches(data[:size], position, str(self.path)):
            if batch.max_timestamp > timestamp:
                timestamp, offset = batch.max_timestamp, batch.last_offset
        return TimeIndexEntry(timestamp, offset)

    def deactivate(self, *, sync: bool = False) -> None:
        """Complete the indexes as the log goes on in a new segment (Kafka: onBecomeInactiveSegment). Raises OSError."""
        self.time_index.complete(*self.largest)
        self.save_indexes(sync=sync)

    def flush(self) -> None:
        """Return once records and index entries are on stable storage. Raises OSError."""
        self.file.flush()
        self.offset_index.save(sync=True)
        self.time_index.save(sync=True)
        if self._transaction_index is not None:
            self._transaction_index.flush()

    def close(self) -> None:
        """Complete the index files and let go of everything. Raises OSError."""
        if self._largest is not None:
            self.time_index.complete(*self._largest)
        self.save_indexes()
        self.file.close()

    def abandon(self) -> None:
        """Let go of everything and write nothing, as if the process had died (Kafka: closeHandlers)."""
        self.file.close()

    def save_indexes(self, *, sync: bool = False) -> None:
        """Bring the files of the offset and time index up to date; `sync` as for them. Raises OSError."""
        for index in (self._offset_index, self._time_index):
            if index is not None:
                index.save(sync=sync)

    # --- deleting

    def rename_to_deleted(self) -> None:
        """Mark the files for removal, with the producer snapshot made when the segment began. Raises OSError.

        Start-up removes what has this suffix.
        """
        files = [self._path(kind) for kind in (*_INDEX_KINDS, FileKind.PRODUCER_SNAPSHOT)]
        self.file.rename(self.path.with_name(self.path.name + DELETED_SUFFIX))
        for path in files:
            if path.exists():
                self._filesystem.rename(path, path.with_name(path.name + DELETED_SUFFIX))
        self._suffix = DELETED_SUFFIX

    def remove(self) -> None:
        """Remove the files; readers that hold their bytes keep them. Raises OSError."""
        self.file.close()
        kinds = (*_INDEX_KINDS, FileKind.PRODUCER_SNAPSHOT) if self._suffix else _INDEX_KINDS
        for path in (self.path, *map(self._path, kinds)):
            if path.exists():
                self._filesystem.unlink(path)

    def _path(self, kind: FileKind) -> Path:
        return self._directory / (file_name(kind, self.base_offset) + self._suffix)


_INDEX_KINDS: Final = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX)
