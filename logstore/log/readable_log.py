"""What readers see of a log: its offsets, its records by offset, by time and by epoch."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import Final, NoReturn, TypeVar

from epoch.cache import LeaderEpochFileCache
from epoch.entry import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET, EndOffset
from epoch.forked import RefusedLock
from epoch.resource_limits import name_memory
from logstore.arguments import whole_number
from logstore.errors import OffsetOutOfRangeError
from logstore.log.isolation import Isolation
from logstore.log.log_reader import LogReader
from logstore.log.log_state import LogState
from logstore.log.timestamp_search import (
    EARLIEST,
    LARGEST,
    LATEST,
    TimestampedOffset,
    at_log_end,
    find_largest,
    find_timestamp,
)
from logstore.recovery.log_loader import LoadedLog
from logstore.segment.live_segment import LiveSegment
from logstore.segment.read_view import ReadView
from logstore.segment.segment_list import SegmentList

T = TypeVar("T")

# An enum looks its members up at each use, which costs as much as finding a segment.
_LOG_END: Final = Isolation.LOG_END
_HIGH_WATERMARK: Final = Isolation.HIGH_WATERMARK
_TXN_COMMITTED: Final = Isolation.TXN_COMMITTED


class ReadableLog(ABC):
    """The reading half of `Log`. Nothing here waits for the writer, unless what is read is just being truncated.

    A closed log still tells where it began and ended, and refuses everything else.
    """

    def __init__(self, directory: Path, loaded: LoadedLog) -> None:
        """Take over what `load_log` found."""
        self.directory = directory
        lock = RLock()
        self._lock: RLock | RefusedLock = lock
        # Looked at before the lock is taken: whatever is raised, and wherever, it is true.
        self._is_nested: Callable[[], bool] = lock._is_owned  # type: ignore[attr-defined]  # noqa: SLF001  Condition's way
        self._state = LogState.OPEN
        self._is_inherited = False
        self._reader = LogReader(directory, SegmentList(loaded.segments), loaded.log_end_offset)
        self._epochs = loaded.epochs
        self._producers = loaded.producers
        self._log_start_offset = loaded.log_start_offset
        self._high_watermark = loaded.log_start_offset
        self._recovery_point = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.directory}, offsets={self._log_start_offset}..{self.log_end_offset})"

    @property
    def log_start_offset(self) -> int:
        """The first offset that may be read."""
        return self._log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets (LEO)."""
        return self._reader.end[0]

    @property
    def high_watermark(self) -> int:
        """All in-sync replicas have what is below it (HW); whoever leads tells by `update_high_watermark`."""
        return self._high_watermark

    @property
    def last_stable_offset(self) -> int:
        """All transactions with records below it are decided (LSO); never above the high watermark."""
        # First: what it passes while the transactions are looked at may be an open one.
        high_watermark = self._high_watermark
        unstable = self._producers.first_unstable_offset
        if unstable is None:
            return high_watermark
        return min(max(unstable, self._log_start_offset), high_watermark)

    @property
    def recovery_point(self) -> int:
        """Everything below it is on stable storage."""
        return self._recovery_point

    @property
    def epochs(self) -> LeaderEpochFileCache:
        """Which leader wrote which offsets."""
        return self._epochs

    @property
    def segments(self) -> tuple[LiveSegment, ...]:
        """The segments at this moment, by base offset."""
        return self._reader.segments.segments

    @property
    def size(self) -> int:
        """Bytes of all segments' `.log` files."""
        return self._reader.segments.size

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        isolation: Isolation = Isolation.LOG_END,
        min_one_batch: bool = True,
    ) -> ReadView:
        """Return whole batches from the one that holds `offset` on, up to `max_bytes`, of one segment; no copies.

        With `min_one_batch` the first batch comes even where it is larger. An offset at the end, or beyond what
        `isolation` lets see, gets an empty answer; raises OffsetOutOfRangeError before the log's start or after its
        end, TypeError for what is no whole number, ValueError for negative `max_bytes`, LogClosedError,
        LogPoisonedError where a truncation was broken off, and OSError.
        """
        while True:
            reader = self._reader
            changes = reader.changes
            try:
                view = self._read(offset, max_bytes, isolation, min_one_batch)
            except Exception as error:
                if changes == reader.changes and not changes & 1:
                    name_memory(error, self.directory)
                    raise
            else:
                if changes == reader.changes and not changes & 1:
                    return view
            self._wait_for_change()

    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        """Find the first record that is not before `timestamp`, in milliseconds since 1970 UTC; None without any.

        LATEST (-1) is the log's end, EARLIEST (-2) its start, LARGEST (-3) the record with the largest timestamp.
        Kafka: fetchOffsetByTimestamp. Raises what `RecordBatch.records` raises, LogClosedError, and OSError.
        """
        self._ensure_readable()
        timestamp = whole_number(timestamp, "timestamp")
        if timestamp == LATEST:
            return at_log_end(self.log_end_offset, self._epochs.latest_epoch)
        if timestamp == EARLIEST:
            start = self._log_start_offset
            return at_log_end(start, self._epochs.epoch_for_offset(start))
        if timestamp == LARGEST:
            return self._undisturbed(lambda: find_largest(self.segments))
        return self._undisturbed(lambda: find_timestamp(self.segments, timestamp, self._log_start_offset))

    def end_offset_for_epoch(self, epoch: int) -> EndOffset | None:
        """Return the largest epoch up to `epoch` that wrote here, and where it ends; None where nobody knows.

        Raises LogClosedError; ValueError for what is no epoch, -1 aside, which nobody knows.
        """
        self._ensure_readable()
        epoch = whole_number(epoch, "epoch")
        if epoch < UNDEFINED_EPOCH:
            raise ValueError(f"epoch is {epoch:,}: pass one from 0 on")
        answer = self._epochs.end_offset_for(epoch, self.log_end_offset)
        return None if answer.end_offset == UNDEFINED_EPOCH_OFFSET else answer

    def _read(self, offset: int, max_bytes: int, isolation: Isolation, min_one_batch: bool) -> ReadView:
        if type(offset) is not int or type(max_bytes) is not int:  # a float would pass for one
            offset, max_bytes = whole_number(offset, "offset"), whole_number(max_bytes, "max_bytes")
        reader = self._reader
        end = reader.end
        if not self._log_start_offset <= offset <= end[0]:
            self._refuse_offset(offset)
        if isolation is _LOG_END:
            return reader.read(offset, max_bytes, end, min_one_batch)
        if isolation is _HIGH_WATERMARK:
            return reader.read(offset, max_bytes, reader.place_of(self._high_watermark), min_one_batch)
        if isolation is not _TXN_COMMITTED:
            raise TypeError(f"the isolation is {isolation!r}: pass Isolation.LOG_END or another of `Isolation`")
        limit = reader.place_of(self.last_stable_offset)
        return reader.read(offset, max_bytes, limit, min_one_batch, with_aborted=True)

    def _ensure_readable(self) -> None:
        if self._is_inherited or self._state is LogState.CLOSED:
            self._refuse()

    @abstractmethod
    def _refuse(self) -> NoReturn:
        """Raise what the state of the log makes of a call."""

    def _refuse_offset(self, offset: int) -> NoReturn:
        self._ensure_readable()
        raise OffsetOutOfRangeError(
            f"the log holds offsets {self._log_start_offset:,} to {self.log_end_offset:,}, and not {offset:,}",
            file=self.directory,
            offset=offset,
            advice="read from its start or its end, or ask by time or epoch where to go on",
        )

    def _undisturbed(self, look: Callable[[], T]) -> T:
        """Do as `read` does, for looks that take longer anyway."""
        while True:
            changes = self._reader.changes
            try:
                found = look()
            except Exception as error:
                if changes == self._reader.changes and not changes & 1:
                    name_memory(error, self.directory)
                    raise
            else:
                if changes == self._reader.changes and not changes & 1:
                    return found
            self._wait_for_change()

    def _wait_for_change(self) -> None:
        """Wait for the truncation or deletion that came in between. Raises where that was broken off."""
        with self._lock:
            if self._reader.changes & 1:
                self._refuse()
