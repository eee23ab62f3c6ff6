"""One segment of a log that is in use: its `.log` file and the indexes beside it (Kafka: LogSegment)."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, Self

from epoch.filesystem import REAL
from epoch.history import MAX_OFFSET
from logstore.append.append_fast_path import APPEND_ONE, FOLLOW, plain_batch
from logstore.append.append_info import AppendInfo
from logstore.batch.batches import read_batch, read_batches
from logstore.batch.layout import HEADER_SIZE, LOG_OVERHEAD, MAGIC, MAGIC_AT, header_of
from logstore.file_name import INDEX_KINDS, FileFate, FileKind, file_name
from logstore.files.index_slots import MAX_RELATIVE_OFFSET
from logstore.indexes.index_entry import TimeIndexEntry
from logstore.log_config import MAX_INT64
from logstore.segment.segment_file import SegmentFile
from logstore.segment.segment_indexes import SegmentIndexes
from logstore.segment.segment_reader import SegmentReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from epoch.filesystem import FileSystem
    from logstore.batch.any_batch import Batch
    from logstore.batch.buffer import Buffer
    from logstore.indexes.live_offset_index import LiveOffsetIndex
    from logstore.indexes.live_time_index import LiveTimeIndex
    from logstore.indexes.live_transaction_index import LiveTransactionIndex
    from logstore.log_config import LogConfig
    from logstore.segment.open_files import OpenFiles

DELETED_SUFFIX: Final = ".deleted"

# All that the search for the largest timestamp looks at.
_unpack_times: Final = header_of("base_offset", "length", "last_offset_delta", "max_timestamp").unpack_from

_ENTRY: Final = array("q", (0, 0, 0, 0))
# Half the cost of calling a NamedTuple's class, once an append.
_build: Final = tuple.__new__


class LiveSegment:
    """Records from `base_offset` on, up to the next segment's first.

    One thread changes a segment; others may read it meanwhile, by `reader` and `indexes`.
    """

    __slots__ = (
        "_bytes_since_index_entry",
        "_config",
        "_directory",
        "_filesystem",
        "_first_timestamp",
        "_index_room",
        "_largest",
        "_largest_offset",
        "_longest_ms",
        "_young_until",
        "base_offset",
        "created_ms",
        "file",
        "indexes",
        "reader",
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
        suffix: str = "",
    ) -> None:
        """Create a segment from its files as they are; see `create` and `load`."""
        self.base_offset: int = base_offset
        self.created_ms: int = created_ms
        """When it was made or loaded: an empty segment's age counts from here."""
        self._directory = directory
        self._config = config
        self._longest_ms = config.longest_segment_ms
        self._filesystem = filesystem
        self.indexes: SegmentIndexes = SegmentIndexes(
            directory, base_offset, config.segment_index_bytes, filesystem, suffix
        )
        self.file: SegmentFile = SegmentFile(
            self._path(FileKind.LOG), size, filesystem=filesystem, open_files=open_files
        )
        self.reader: SegmentReader = SegmentReader(base_offset, self.file, self.indexes)
        """Finds batches by offset."""
        self._bytes_since_index_entry = 0
        self._largest: tuple[int, int] | None = None
        """Set by the writer alone; None until it needs it: the time index ends with it then."""
        self._largest_offset = min(base_offset + MAX_RELATIVE_OFFSET, MAX_OFFSET - 1)
        self._first_timestamp: int | None = None
        self._young_until: int | None = None
        """A batch of this timestamp is not too late for the segment; None where nobody has looked."""
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
        suffix: str = "",
        is_hidden: bool = False,
    ) -> Self:
        """Begin a new segment; files of that name that a crash left behind are removed. Raises OSError.

        `suffix` follows the names of files that are to take the place of others. One that `is_hidden` has its `.log`
        file by another name until `show`.
        """
        segment = cls(
            directory, base_offset, config, filesystem, created_ms=created_ms, open_files=open_files, suffix=suffix
        )
        segment.indexes.begin()
        if is_hidden:
            segment.file.path = directory / file_name(FileKind.LOG, base_offset, FileFate.BEGUN)
        segment.file.create()
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
        """Load the files of a segment that needs no recovery. Raises OSError."""
        segment = cls(directory, base_offset, config, filesystem, created_ms=created_ms, open_files=open_files)
        segment.file.size = segment.path.stat().st_size
        return segment

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
        return self.indexes.offset

    @property
    def time_index(self) -> LiveTimeIndex:
        """Where to look for a timestamp. Raises OSError, CorruptIndexError on its first use."""
        return self.indexes.time

    @property
    def transaction_index(self) -> LiveTransactionIndex:
        """The aborted transactions. Raises OSError, CorruptIndexError on its first use."""
        return self.indexes.transactions

    @property
    def largest(self) -> TimeIndexEntry:
        """The largest timestamp in ms, -1 without any, and the last offset of its batch (Kafka: maxTimestampSoFar)."""
        return _build(TimeIndexEntry, self._largest or self.indexes.time.last)

    @property
    def largest_timestamp(self) -> int:
        """In ms since 1970 UTC; without any, when the file was last written (Kafka: largestTimestamp)."""
        largest, _ = self._largest or self.indexes.time.last
        return largest if largest >= 0 else self.path.stat().st_mtime_ns // 1_000_000

    def batches(self, position: int = 0) -> Iterable[Batch]:
        """Walk over the batches from `position` on. Raises what `read_batches` raises, and OSError."""
        return read_batches(self.file.data()[: self.size], position, str(self.path))

    # --- appending

    def configure(self, config: LogConfig) -> None:
        """Change the configuration; the indexes keep the size that they were created with."""
        self._config = config
        self._longest_ms = config.longest_segment_ms
        self._young_until = None

    def should_roll(
        self, size: int, max_timestamp: int, last_offset: int, clock: Callable[[], int], jitter_ms: int
    ) -> bool:
        """Whether `size` more bytes up to `last_offset` belong in the next segment (Kafka: shouldRoll)."""
        config, mine = self._config, self.file.size
        if mine > config.segment_bytes - size or not 0 <= last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
            return True
        if mine:
            first = self._first_timestamp
            age = self._age(max_timestamp, clock) if first is None or first < 0 else max_timestamp - first
            if age > self._longest_ms - jitter_ms:
                return True
        return self._index_room <= 0 and self._is_index_full()

    def _is_index_full(self) -> bool:
        """Count how many entries both indexes take: so many batches need not ask."""
        self._index_room = self.indexes.room
        return self._index_room <= 0

    def append_batch(
        self, data: Buffer, info: AppendInfo, clock: Callable[[], int], jitter_ms: int
    ) -> AppendInfo | None:
        """Write one batch, and return `info`; None, nothing written, where it belongs into the next segment.

        Raises OSError, nothing written.
        """
        _, last_offset, max_timestamp, size, _ = info
        if self.should_roll(size, max_timestamp, last_offset, clock, jitter_ms):
            return None
        position = self.file.size
        self.file.append(data)
        self._note(position, size, last_offset, max_timestamp)
        first = self._first_timestamp
        if self._young_until is None and first is not None and first >= 0:
            self._young_until = min(first + self._longest_ms - jitter_ms, MAX_INT64)
        return info

    def append_one(
        self, data: Buffer, next_offset: int, leader_epoch: int, clock: Callable[[], int], jitter_ms: int
    ) -> AppendInfo | None:
        """Check and write a batch; None, nothing written, where it is not plain or belongs into the next segment.

        Raises OSError, nothing written.
        """
        append_one = APPEND_ONE.code or APPEND_ONE.ready(len(data))
        young_until = self._young_until
        if append_one is not None and young_until is not None and self._index_room > 0:
            file = self.file
            with file.lock:
                position = file.size
                room, largest_offset = self._config.segment_bytes - position, self._largest_offset
                done = append_one(data, file.direct, next_offset, leader_epoch, room, largest_offset, young_until)
                _, last_offset, max_timestamp, size, _ = done
                if size > 0:
                    file.size = position + size
            if size > 0:
                file.used = True
                self._note(position, size, last_offset, max_timestamp)
                info: AppendInfo = _build(AppendInfo, done)
                return info
            if size:
                # What was written goes; writing it again tells the error.
                file.take_back(position)
        plain = plain_batch(data, next_offset, leader_epoch)
        return None if plain is None else self.append_batch(data, plain, clock, jitter_ms)

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

        None also as long as the kernel that finds out is not loaded. Raises OSError, nothing written.
        """
        follow = FOLLOW.ready()
        if follow is None:
            return None
        size, position, interval = len(data), self.file.size, self._config.index_interval_bytes
        room = size // max(interval + 1, HEADER_SIZE) + 1
        entries = _ENTRY * room
        largest, offset_of_largest = self.largest
        rows, times, first, last, newest, indexed, largest, offset_of_largest = follow(
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
            self.indexes.offset.extend(entries[:rows], entries[room : room + rows])
            self.indexes.time.extend(entries[2 * room : 2 * room + times], entries[3 * room : 3 * room + times])
            self._index_room -= rows
        self._bytes_since_index_entry = position + size - indexed
        self._largest = largest, offset_of_largest
        info: AppendInfo = _build(AppendInfo, (first, last, newest, size, False))
        return info

    def _note(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        """Note a batch that was written: its timestamp, and where it is if that is due."""
        known = self._largest
        if known is None:
            known = self._largest = self.indexes.time.last
        largest, offset_of_largest = known
        if max_timestamp > largest:
            self._largest = largest, offset_of_largest = max_timestamp, last_offset
        if self._bytes_since_index_entry > self._config.index_interval_bytes:
            self.indexes.offset.append(last_offset, position)
            self.indexes.time.append(largest, offset_of_largest)
            self._index_room -= 1
            self._bytes_since_index_entry = size
        else:
            self._bytes_since_index_entry += size

    def _age(self, timestamp: int, clock: Callable[[], int]) -> int:
        """Return the time from the first batch to `timestamp`; without times, since the segment was made."""
        first = self._first_timestamp
        if first is None:
            first = self._first_timestamp = self._largest_of_first_batch()
        return timestamp - first if first >= 0 else clock() - self.created_ms

    def _largest_of_first_batch(self) -> int:
        header = self.file.beginning(HEADER_SIZE)
        if len(header) == HEADER_SIZE and header[MAGIC_AT] == MAGIC:  # so the file need not be mapped for an append
            largest: int = _unpack_times(header)[-1]
            return largest
        return read_batch(self.file.between(0, self.size)[0]).max_timestamp

    # --- truncating, rolling, closing

    def show(self) -> None:
        """Give a segment that was hidden its name. Raises OSError. May be called again where it is broken off."""
        self.file.rename(self._path(FileKind.LOG))

    def prepare_truncation(self, offset: int) -> tuple[int, int]:
        """Map the file and read the indexes, which a truncation could not do where memory has come to an end.

        Returns the first offset that loses its record, below `offset` where a batch spans that, and where the batches
        end that stay: lower yet where an earlier cut has left a gap. Raises what `locate` raises, and
        CorruptIndexError.
        """
        self.file.data()
        place = self.reader.locate(offset, self.size)
        _ = self.indexes.time, self.indexes.transactions
        if place is None:
            return offset, self.reader.end_before(self.size)
        return min(offset, place[2]), self.reader.end_before(place[0])

    def truncate_to(self, offset: int, now_ms: int = 0) -> int:
        """Drop all batches that reach `offset`; return how many bytes that were. Raises OSError."""
        before = self.size
        place = self.reader.locate(offset, before)
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
            self._first_timestamp = self._young_until = None
        return before - self.size

    def take_back(self, size: int, end_offset: int) -> None:
        """Undo an append that was broken off: the segment has `size` bytes again, with batches before `end_offset`.

        Raises OSError. May be called again where it is broken off itself.
        """
        if self.size > size:
            # The indexes first: the size shows whether they may have too many entries.
            self._cut_indexes(end_offset)
            self._largest = self._find_largest(size)
            if not size:
                self._first_timestamp = self._young_until = None
        else:
            # What completes the time index before the next segment may have been broken off.
            self.indexes.take_back_time(end_offset)
        self.file.take_back(size)

    def _cut_indexes(self, offset: int) -> None:
        self._index_room = self._bytes_since_index_entry = 0
        self.indexes.truncate_to(offset)

    def _find_largest(self, size: int) -> TimeIndexEntry:
        """Look for a larger timestamp after the last entry of the time index (Kafka: readLargestTimestamp)."""
        last = self.indexes.time.last
        timestamp, offset = last
        data, position = self.file.data(), self.indexes.offset.lookup(last.offset)
        while position < size and data[position + MAGIC_AT] == 2:
            base_offset, length, delta, reached = _unpack_times(data, position)
            if reached > timestamp:
                timestamp, offset = reached, base_offset + delta
            position += length + LOG_OVERHEAD
        for batch in read_batches(data[:size], position, str(self.path)):
            if batch.max_timestamp > timestamp:
                timestamp, offset = batch.max_timestamp, batch.last_offset
        return TimeIndexEntry(timestamp, offset)

    def deactivate(self, *, sync: bool = False) -> None:
        """Complete the indexes as the log goes on in a new segment (Kafka: onBecomeInactiveSegment). Raises OSError."""
        self.indexes.time.complete(*self.largest)
        self.indexes.save(sync=sync)

    def flush(self) -> None:
        """Return once records and index entries are on stable storage. Raises OSError."""
        self.file.flush()
        self.indexes.flush()

    def close(self) -> None:
        """Complete the index files and let go of everything. Raises OSError."""
        if self._largest is not None:
            self.indexes.time.complete(*self._largest)
        self.indexes.save()
        self.file.close()

    def abandon(self) -> None:
        """Close everything and write nothing, as if the process had died (Kafka: closeHandlers)."""
        self.file.close()

    # --- deleting

    def rename_to_deleted(self, *, keeps_snapshot: bool = False) -> None:
        """Mark the files for removal, with the producer snapshot made when the segment began. Raises OSError.

        Start-up removes what has this suffix. The snapshot stays where another segment takes this one's place.
        """
        kinds = INDEX_KINDS if keeps_snapshot else (*INDEX_KINDS, FileKind.PRODUCER_SNAPSHOT)
        files = [self._path(kind) for kind in kinds]
        self.file.rename(self.path.with_name(self.path.name + DELETED_SUFFIX))
        for path in files:
            if path.exists():
                self._filesystem.rename(path, path.with_name(path.name + DELETED_SUFFIX))
        self.indexes.suffix = DELETED_SUFFIX

    def remove(self) -> None:
        """Remove the files; readers that hold their bytes keep them. Raises OSError."""
        self.file.close()
        kinds = (*INDEX_KINDS, FileKind.PRODUCER_SNAPSHOT) if self.indexes.suffix else INDEX_KINDS
        for path in (self.path, *map(self._path, kinds)):
            if path.exists():
                self._filesystem.unlink(path)

    def _path(self, kind: FileKind) -> Path:
        return self._directory / (file_name(kind, self.base_offset) + self.indexes.suffix)
