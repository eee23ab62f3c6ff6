"""What can be read of an open log, and where its ends are."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias, overload

from logstore.arguments import ensure_bool, offset_span, whole_number
from logstore.log import cursors, reading
from logstore.log.reading.isolation import Isolation
from logstore.log.reading.log_reader import LogReader
from logstore.log.reading.log_streams import LogStreams
from logstore.log.state.on_demand import OnDemand
from logstore.log_config import LogConfig
from logstore.offline import columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    import pyarrow as pa

    from epoch.cache import LeaderEpochFileCache
    from epoch.entry import EndOffset
    from logstore.batch.columns import RecordColumns
    from logstore.batch.record import Record
    from logstore.files.only_copy.offset_gaps import Hole
    from logstore.log.cursors.cursor import Cursor
    from logstore.log.flusher import Flusher
    from logstore.log.keys.key_index import KeyIndex
    from logstore.log.reading.record_lookup import RecordLookup
    from logstore.log.reading.sound_ranges import SoundRanges
    from logstore.log.reading.tail import Tail
    from logstore.log.state.log_contents import LogContents
    from logstore.log.state.log_environment import LogEnvironment
    from logstore.log.state.log_guard import LogGuard
    from logstore.log.state.waiters import Waiter
    from logstore.log.timestamp_search import TimestampedOffset
    from logstore.offline.columns.column_reader import Chunk
    from logstore.producers.producer import Producer
    from logstore.segment.live_segment import LiveSegment
    from logstore.segment.read_view import ReadView

LogOffsets: TypeAlias = tuple[int, int, int, int]
"""The log start offset, the high watermark, the last stable offset and the log end offset (Kafka: LogOffsetSnapshot).

A plain tuple, as a fetch makes one of each of its partitions: a NamedTuple takes twice as long.
"""


class ReadableLog:
    """The half of a `Log` that changes nothing in its records."""

    def __init__(self, environment: LogEnvironment, contents: LogContents, guard: LogGuard, flusher: Flusher) -> None:
        """Read what the log holds at each moment; cursors flush it before they are committed."""
        self.directory: Path = environment.directory
        self._environment = environment
        self._contents = contents
        self._guard = guard
        self._reader = LogReader(environment, contents, guard)
        self._streams = LogStreams(environment, contents, guard, self._reader)
        self._cursors = OnDemand(
            lambda: cursors.cursors.Cursors(
                cursors.cursor_keeper.CursorKeeper(environment, contents, guard, flusher, self._streams)
            )
        )

    # --- what it holds

    @property
    def config(self) -> LogConfig:
        """The configuration. A new one takes effect with the next call; the size of indexes with the next segment."""
        return self._environment.config

    @config.setter
    def config(self, config: LogConfig) -> None:
        if not isinstance(config, LogConfig):
            raise TypeError(f"config is {config!r}, of type {type(config).__name__}: pass a LogConfig")
        with self._guard.lock:
            self._environment.configure(config)
            self._contents.segments.active.configure(config)

    def __repr__(self) -> str:
        start, end = self._contents.log_start_offset, self.log_end_offset
        return f"{type(self).__name__}({self.directory}, start={start}, end={end})"

    @property
    def log_start_offset(self) -> int:
        """The first offset that may be read; below `local_log_start_offset`, from remote storage."""
        return self._contents.log_start_offset

    @property
    def local_log_start_offset(self) -> int:
        """The first offset that may be read here; remote storage has, or may have, those below (KIP-405)."""
        return self._contents.local_log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets (LEO)."""
        return self._contents.end[0]

    @property
    def high_watermark(self) -> int:
        """All in-sync replicas have the records below it (HW); a leader moves it with `advance_high_watermark`."""
        return self._contents.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """All transactions with records below it are decided (LSO); never above the high watermark."""
        return self._contents.last_stable_offset

    @property
    def offsets(self) -> LogOffsets:
        """All four in one look, for who is about to read. Raises what `ensure_readable` raises."""
        contents = self._contents
        if not contents.is_readable:
            self._guard.refuse()
        start, high_watermark = contents.log_start_offset, contents.high_watermark
        # As `contents.last_stable_offset`, but never above the high watermark that is told with it.
        transactions, stable = contents.producers.transactions, high_watermark
        if transactions.open or transactions.unreplicated:
            unstable = transactions.first_unstable_offset
            stable = high_watermark if unstable is None else min(max(unstable, start), high_watermark)
        return start, high_watermark, stable, contents.end[0]

    @property
    def recovery_point(self) -> int:
        """Everything below it is on stable storage."""
        return self._contents.recovery_point

    @property
    def epochs(self) -> LeaderEpochFileCache:
        """Which leader wrote which offsets."""
        return self._contents.epochs

    @property
    def producers(self) -> tuple[Producer, ...]:
        """The producers that are remembered: their epochs, last batches and open transactions, as they are now."""
        return tuple(self._contents.producers.producers.values())

    def known_producer(self, producer_id: int) -> Producer | None:
        """Return what is remembered of one producer, as it is now; None where that is nothing (Kafka: lastEntry)."""
        return self._contents.producers.producers.get(producer_id)

    @property
    def segments(self) -> tuple[LiveSegment, ...]:
        """The segments at this moment, by base offset."""
        return self._contents.segments.segments

    @property
    def size(self) -> int:
        """Bytes of all segments' `.log` files."""
        return self._contents.segments.size

    @property
    def holes(self) -> tuple[Hole, ...]:
        """Offsets whose records were damaged or lost, as `damage="hole"` has left them; empty in a sound log.

        Reading into one raises HoleError. It goes once the log starts behind it, or is truncated to before it.
        """
        return self._contents.holes

    # --- reading

    def ensure_readable(self) -> None:
        """Raise LogClosedError of a closed log, and InheritedLogError in a forked process: where `read` would."""
        self._guard.ensure_readable()

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        isolation: Isolation = Isolation.LOG_END,
        min_one_batch: bool = True,
    ) -> ReadView:
        """Return whole batches from the one that holds `offset` on, up to `max_bytes`, of one segment.

        Only what was just appended is copied, where that is little. With `min_one_batch` the first batch is returned
        even if it is larger. For an offset at the end, or beyond what `isolation` allows, the result is empty. Raises
        OffsetOutOfRangeError before the log's start or after its end, TypeError if a number is not whole, ValueError
        for negative `max_bytes`, LogClosedError, LogPoisonedError if a truncation was interrupted, and OSError.
        """
        if min_one_batch is not True:
            ensure_bool(min_one_batch, "min_one_batch")
        return self._reader.read(offset, max_bytes, isolation, min_one_batch)

    @overload
    def get(self, offset: int) -> Record | None: ...

    @overload
    def get(
        self, *, key: bytes | str, isolation: Isolation = Isolation.LOG_END, skip_holes: bool = False
    ) -> Record | None: ...

    def get(
        self,
        offset: int | None = None,
        *,
        key: bytes | str | None = None,
        isolation: Isolation = Isolation.LOG_END,
        skip_holes: bool = False,
    ) -> Record | None:
        """Return the record at an offset, or the last one with a key; None where there is none.

        At an offset, that is where compaction has left none, and where a transaction's marker is. It asks for no
        isolation: records of open and aborted transactions, and those above the high watermark, are returned as well.
        Raises OffsetOutOfRangeError below the log's start and from its end on, HoleError in one of `holes`, and what
        `read` and `ReadView.records` raise.

        By a key, the record is the last that `isolation` lets be read; one whose value is None says that the key was
        deleted. The first call reads the log and keeps an index beside the segments, in files that Kafka leaves alone;
        later calls, of later processes too, read what is new. It takes 12 bytes a record. Raises HoleError where a
        later one may have been in a hole, unless `skip_holes` is set; TypeError for a key that is neither bytes
        nor text, and what `records` raises.

        >>> record = log.get(7)
        >>> record = log.get(key=b"customer-7")
        """
        if key is None:
            if offset is None:
                raise TypeError("offset is None, and so is the key: pass a whole number, or `key=`")
            return self._lookup.get(offset)
        if offset is not None:
            raise TypeError("an offset and a key are two places: pass one of them")
        key = key.encode() if isinstance(key, str) else key
        if not isinstance(key, bytes):
            raise TypeError(f"the key is of type {type(key).__name__}: pass bytes, or text for its UTF-8")
        self.ensure_readable()
        ensure_bool(skip_holes, "skip_holes")
        return self._keys.latest(key, partial(self._visible, isolation), skip_holes=skip_holes)

    @cached_property
    def _lookup(self) -> RecordLookup:
        return reading.record_lookup.RecordLookup(self, self._contents)

    def _visible(self, isolation: Isolation, offset: int) -> Record | None:
        """Return the record at an offset, if readers may see it."""
        if isolation is Isolation.LOG_END:
            return self._lookup.get(offset)
        return next(self.records(offset, offset + 1, isolation=isolation), None)

    @cached_property
    def _keys(self) -> KeyIndex:
        from logstore.log.keys.key_index import KeyIndex  # noqa: PLC0415  start-up time: few logs are asked for keys

        contents = self._contents
        return KeyIndex(
            self,
            self._environment.filesystem,
            lambda: contents.last_cut,
            lambda: (contents.epochs.history, contents.end_of_epochs),
        )

    def sound_ranges(self, max_age_ms: int) -> SoundRanges:
        """Return what checks that reads are sound, unless they were checked or appended within `max_age_ms`.

        >>> ranges = log.sound_ranges(3_600_000)
        >>> view = ranges.checked(log.read(0, 1 << 20))
        """
        return reading.sound_ranges.SoundRanges(self._contents, whole_number(max_age_ms, "max_age_ms"))

    def columns(
        self, start: int, end: int | None = None, *, isolation: Isolation = Isolation.LOG_END
    ) -> Iterator[RecordColumns]:
        """Yield the records from offset `start` up to, not including, `end` as columns, some thousand at a time.

        As far as `isolation` allows, of each codec, without control records, and with `READ_COMMITTED` without those of
        aborted transactions. Raises what `read` and `ReadView.records` raise.

        >>> keys = sum(int((columns.key_length >= 0).sum()) for columns in log.columns(log.log_start_offset))
        """
        return (chunk.records for chunk in self._chunks(start, end, isolation))

    def arrow_batches(
        self, start: int, end: int | None = None, *, isolation: Isolation = Isolation.LOG_END
    ) -> pa.RecordBatchReader:
        """Give what `columns` yields as Arrow's record batches, one after the other, so that memory stays flat.

        Columns `offset`, `timestamp` (milliseconds), `leader_epoch`, `key`, `value` and `headers`, which is null where
        there are none. Raises ModuleNotFoundError without pyarrow (the extra `arrow`); reading on raises what `columns`
        raises.
        """
        return columns.column_source.arrow_reader(self._chunks(start, end, isolation))

    def to_arrow(self, start: int, end: int | None = None, *, isolation: Isolation = Isolation.LOG_END) -> pa.Table:
        """Return what `arrow_batches` gives as one table."""
        return self.arrow_batches(start, end, isolation=isolation).read_all()

    def _chunks(self, start: int, end: int | None, isolation: Isolation) -> Iterator[Chunk]:
        from logstore.offline.columns.view_columns import read_columns  # noqa: PLC0415  numpy and numba load on first bulk use

        return read_columns(partial(self.read, isolation=isolation), *offset_span(start, end))

    def records(
        self,
        start: int | None = None,
        end: int | None = None,
        *,
        since: int | datetime | None = None,
        isolation: Isolation = Isolation.LOG_END,
        skip_holes: bool = False,
    ) -> Iterator[Record]:
        """Iterate over the records from `start` on, by default the log's start, to its end, or below the offset `end`.

        `since` is a time to start from: milliseconds since 1970 UTC, or a `datetime`, which without a time zone is
        local. That is the first record with such a timestamp or a later one. The end is where the log ends when the
        iterator comes there; up to `isolation`. A megabyte is read at a time. With `skip_holes` it goes on behind each
        of `holes`, and otherwise raises HoleError there.

        Raises what `read` and `ReadView.records` raise. While iterating, that is OffsetOutOfRangeError if records were
        deleted before they were read, and LogTruncatedError if some were truncated that had been read.

        >>> for record in log.records(since=datetime(2026, 1, 31, tzinfo=UTC)):
        ...     print(record.offset, record.value)
        """
        ensure_bool(skip_holes, "skip_holes")
        return self._streams.records(start, end, since, isolation, skip_holes=skip_holes)

    def tail(
        self,
        start: int | None = None,
        *,
        since: int | datetime | None = None,
        isolation: Isolation = Isolation.LOG_END,
        skip_holes: bool = False,
    ) -> Tail:
        """Return an endless iterator, for `for` and `async for`, which waits for more: see `Tail`.

        It starts at `start` or `since`, as `records` does, by default where `isolation` lets reads end now: what is
        appended from here on. `log.tail(log.log_start_offset)` yields all. `skip_holes` is as for `records`. Raises
        what `read` raises.
        """
        ensure_bool(skip_holes, "skip_holes")
        return self._streams.tail(start, since, isolation, skip_holes=skip_holes)

    def wait(self, offset: int, timeout: float | None = None) -> bool:
        """Wait until the log's end is beyond `offset`; return False if that takes more than `timeout` seconds.

        Appends wake it; nothing is polled. Raises LogClosedError once the log is closed, LogPoisonedError if it can
        grow no more, and ReentrantCallError in a signal handler or observer within a call of the log.
        """
        return self._streams.wait(offset, timeout)

    async def wait_async(self, offset: int, timeout: float | None = None) -> bool:  # noqa: ASYNC109  as `wait` has it
        """Do as `wait` does, in a task of asyncio or trio, without a thread."""
        return await self._streams.wait_async(offset, timeout)

    def attend(self, waiter: Waiter, *, end: bool = True, watermark: bool = True) -> None:
        """Wake `waiter` from now on after each change: of the log's ends, the high watermark, by a truncation or close.

        Without `end` it is not woken by appends, without `watermark` not where the high watermark alone has moved. Its
        `wake` is called by the thread that changes the log, maybe with the log's lock held: it must return at once and
        wait for nothing. Reads wait for no lock. The waiter is held weakly, and looks once more before it waits.
        """
        if end:
            self._contents.end_waiters.add(waiter)
        if watermark:
            self._contents.watermark_waiters.add(waiter)

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more."""
        self._contents.end_waiters.remove(waiter)
        self._contents.watermark_waiters.remove(waiter)

    def cursor(self, name: str) -> Cursor:
        """Return the cursor of this name, a place to read from that is kept on disk: see `Cursor`.

        Where none was committed it begins at the log's start. Each call with a name returns the same object. It is kept
        in the log's directory as `<name>.cursor`, which Kafka leaves alone, and is deleted with the log. A name
        consists of 1 to 200 letters, digits, dots, underscores and hyphens. Raises ValueError for other names,
        CorruptCheckpointError, LogClosedError, and OSError.

        >>> log.cursor("billing").position
        0
        """
        return self._cursors.get().open(name)

    @property
    def cursor_names(self) -> list[str]:
        """The cursors that have been committed. Raises LogClosedError, OSError."""
        return self._cursors.get().names()

    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        """Find the first record that is not before `timestamp`, in milliseconds since 1970 UTC; None without any.

        LATEST (-1) is the log's end, EARLIEST (-2) its start, LARGEST (-3) the record with the largest timestamp.
        Kafka: fetchOffsetByTimestamp. Raises what `RecordBatch.records` raises, LogClosedError, and OSError.
        """
        return self._reader.offset_for_timestamp(timestamp)

    def end_offset_for_epoch(self, epoch: int) -> EndOffset | None:
        """Return the largest epoch up to `epoch` in this log, and where it ends; None if that is unknown.

        It is unknown for -1. Raises LogClosedError, and ValueError for other numbers that are not epochs.
        """
        return self._reader.end_offset_for_epoch(epoch)
