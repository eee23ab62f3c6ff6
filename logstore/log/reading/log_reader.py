"""Find records in the segments of a log, without a lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from epoch.base.resource_limits import name_memory
from epoch.entry import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
from logstore import log
from logstore import segment as views
from logstore.arguments import whole_number
from logstore.errors import CorruptBatchError, OffsetOutOfRangeError
from logstore.log.reading.isolation import Isolation
from logstore.segment.segment_list import aborted_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from epoch.entry import EndOffset
    from logstore.errors import LogStoreError
    from logstore.indexes.transaction_index import AbortedTransaction
    from logstore.log.state.log_contents import LogContents, LogPlace
    from logstore.log.state.log_environment import LogEnvironment
    from logstore.log.state.log_guard import LogGuard
    from logstore.log.timestamp_search import TimestampedOffset
    from logstore.segment.live_segment import LiveSegment
    from logstore.segment.read_view import ReadView

T = TypeVar("T")

# An enum looks its members up at each use, which costs as much as finding a segment.
_LOG_END: Final = Isolation.LOG_END
_HIGH_WATERMARK: Final = Isolation.HIGH_WATERMARK
_READ_COMMITTED: Final = Isolation.READ_COMMITTED


class LogReader:
    """Finds records by offset and by time, and epochs; waits for nobody, unless what is read is just being truncated.

    Once the log is closed it refuses everything.
    """

    __slots__ = ("_contents", "_directory", "_guard", "_is_only_copy", "_known_place", "end_fault")

    def __init__(self, environment: LogEnvironment, contents: LogContents, guard: LogGuard) -> None:
        """Read what the log holds at each moment."""
        self._directory = environment.directory
        self._contents = contents
        self._guard = guard
        self._is_only_copy = not environment.is_replicated
        self._known_place = (-1, contents.end)
        self.end_fault: LogStoreError | None = None
        """What is wrong where the log ends, although more of it was on stable storage; raised to who reads there."""

    def read(self, offset: int, max_bytes: int, isolation: Isolation, min_one_batch: bool) -> ReadView:
        """Return whole batches from the one that holds `offset` on; see `Log.read`."""
        if type(offset) is not int or type(max_bytes) is not int:  # a float would pass for one
            offset, max_bytes = whole_number(offset, "offset"), whole_number(max_bytes, "max_bytes")
        contents, guard = self._contents, self._guard
        while True:
            if not contents.is_readable:
                guard.refuse()
            changes = contents.changes
            try:
                end = contents.end
                if not contents.log_start_offset <= offset <= end[0]:
                    self._refuse_offset(offset)
                limit = end if isolation is _LOG_END else self._limit_of(isolation)
                view = self._find(offset, max_bytes, limit, min_one_batch, isolation is _READ_COMMITTED)
                if contents.gaps.holes:
                    self._ensure_no_hole(offset, view, limit)
            except Exception as error:
                if changes == contents.changes and not changes & 1:
                    name_memory(error, self._directory)
                    raise
            else:
                if changes == contents.changes and not changes & 1:
                    return view
            self._wait_for_change()

    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        """Find the first record that is not before `timestamp`; see `Log.offset_for_timestamp`."""
        self._guard.ensure_readable()
        timestamp = whole_number(timestamp, "timestamp")
        contents = self._contents
        if timestamp == log.timestamp_search.LATEST:
            return log.timestamp_search.at_log_end(contents.end[0], contents.epochs.latest_epoch)
        if timestamp == log.timestamp_search.EARLIEST:
            start = contents.log_start_offset
            return log.timestamp_search.at_log_end(start, contents.epochs.epoch_for_offset(start))
        if timestamp == log.timestamp_search.LARGEST:
            return self._undisturbed(lambda: log.timestamp_search.find_largest(contents.segments.segments))
        return self._undisturbed(
            lambda: log.timestamp_search.find_timestamp(
                contents.segments.segments, timestamp, contents.log_start_offset
            )
        )

    def end_offset_for_epoch(self, epoch: int) -> EndOffset | None:
        """Return the largest epoch up to `epoch` that wrote here, and where it ends; see `Log.end_offset_for_epoch`."""
        self._guard.ensure_readable()
        epoch = whole_number(epoch, "epoch")
        if epoch < UNDEFINED_EPOCH:
            raise ValueError(f"epoch is {epoch:,}: pass one from 0 on")
        answer = self._contents.epochs.end_offset_for(epoch, self._contents.end_of_epochs)
        return None if answer.end_offset == UNDEFINED_EPOCH_OFFSET else answer

    def explained(self, error: LogStoreError) -> LogStoreError:
        """Return a reader's error for damage: in a log that no other node has a copy of, how to keep the rest."""
        if not (self._is_only_copy and isinstance(error, CorruptBatchError)):
            return error
        return type(error)(
            error.what,
            file=error.file,
            position=error.position,
            offset=error.offset,
            advice="put a copy of the directory in its place; or close the log and open it with check_all=True and "
            'damage="hole", which keeps all that can be read: iterate with skip_holes=True then',
        )

    # --- where offsets are

    def _limit_of(self, isolation: Isolation) -> LogPlace:
        """Return where readers of this isolation stop."""
        if isolation is _HIGH_WATERMARK:
            return self._place_of(self._contents.high_watermark)
        if isolation is _READ_COMMITTED:
            return self._place_of(self._contents.last_stable_offset)
        raise TypeError(f"the isolation is {isolation!r}: pass Isolation.LOG_END or another of `Isolation`")

    def _place_of(self, offset: int) -> LogPlace:
        """Find the batch that holds `offset`; the log's end where none does (Kafka: convertToOffsetMetadata)."""
        end, changes = self._contents.end, self._contents.changes
        if offset >= end[0]:
            return end
        known_at, known = self._known_place
        if known_at == changes and known[0] == offset:
            return known
        place = self._locate(offset, end)
        self._known_place = (changes, place)
        return place

    def _locate(self, offset: int, end: LogPlace) -> LogPlace:
        _, end_base, end_position = end
        for segment in self._contents.segments.from_offset(offset):
            size = end_position if segment.base_offset == end_base else segment.size
            place = segment.reader.locate(offset, size)
            if place is not None:
                self._ensure_place(segment, offset, place[2], size)
                return offset, segment.base_offset, place[0]
        return offset, end_base, end_position

    def _ensure_place(self, segment: LiveSegment, offset: int, base_offset: int, size: int) -> None:
        """Believe a batch behind a gap only where it fits between those around it: it would hide them from readers."""
        if base_offset <= offset:
            return
        segments, contents = self._contents.segments, self._contents
        number = segments.floor(segment.base_offset) + 1
        end_offset = segments.base_offsets[number] if number < len(segments) else contents.end[0]
        view = segment.reader.read(offset, 0, size, end_offset, contents.epochs, min_one_batch=True)
        if view is not None:
            next(view.batches())

    def _ensure_no_hole(self, offset: int, view: ReadView, limit: LogPlace) -> None:
        """Raise HoleError where the next records are those of a hole. They lie between segments."""
        hole = self._contents.gaps.next_hole(offset)
        if hole is None or hole.start_offset >= limit[0]:
            return
        is_passed = view.segment_base_offset >= hole.end_offset
        if not (hole.start_offset <= offset < limit[0] or is_passed):
            return
        raise hole.error(self._directory, ", or iterate with skip_holes=True; `Log.holes` lists all")

    def _refuse_offset(self, offset: int) -> NoReturn:
        contents = self._contents
        if self.end_fault is not None and offset > contents.end[0]:
            raise self.end_fault.with_traceback(None)
        advice = "read from its start or end, or look up an offset by time or epoch"
        start, end = contents.log_start_offset, contents.end[0]
        raise OffsetOutOfRangeError.outside_of(self._directory, offset, start, end, advice)

    # --- reading

    def _find(self, offset: int, max_bytes: int, limit: LogPlace, min_one_batch: bool, with_aborted: bool) -> ReadView:
        """Find whole batches from the one that holds `offset` on, before `limit`."""
        if max_bytes < 0:
            raise ValueError(f"max_bytes is {max_bytes:,}: pass how many bytes to read at most, from 0 on")
        if offset >= limit[0]:
            if self.end_fault is not None and offset >= self._contents.end[0]:
                raise self.end_fault.with_traceback(None)
            return views.read_view.ReadView(offset)
        segments = self._contents.segments
        number = segments.floor(offset)
        if number < 0:
            start = self._contents.local_log_start_offset
            raise OffsetOutOfRangeError(
                f"offset {offset:,} is in remote storage or lost: the first segment begins at {start:,}",
                file=self._directory,
                offset=offset,
                advice=f"read from {start:,} on, or from a broker that reads remote storage",
            )
        _, limit_base, limit_position = limit
        bases, epochs = segments.base_offsets, self._contents.epochs
        for segment in segments.segments[number:] if number else segments.segments:
            base = segment.base_offset
            if base > limit_base:
                break
            number += 1
            size, end_offset = (limit_position, limit[0]) if base == limit_base else (segment.file.size, bases[number])
            view = segment.reader.read(offset, max_bytes, size, end_offset, epochs, min_one_batch=min_one_batch)
            if view is not None:
                if with_aborted:
                    view.aborted_transactions = self._aborted(offset, segment, view.position + len(view.data))
                return view
            segment.reader.ensure_gap(offset, size, end_offset)
        return views.read_view.ReadView(offset)

    def _aborted(self, offset: int, segment: LiveSegment, end_position: int) -> list[AbortedTransaction]:
        """Collect the aborted transactions with records from `offset` up to `end_position` of `segment`, or later."""
        segments = self._contents.segments
        later = segments.segments[segments.floor(segment.base_offset) + 1 :]
        end = segment.offset_index.offset_from_position(end_position)
        if end is None:
            end = later[0].base_offset if later else self._contents.end[0]
        return aborted_within((segment, *later), offset, end)

    # --- beside a truncation

    def _undisturbed(self, look: Callable[[], T]) -> T:
        """Do as `read` does, for looks that take longer anyway."""
        contents = self._contents
        while True:
            changes = contents.changes
            try:
                found = look()
            except Exception as error:
                if changes == contents.changes and not changes & 1:
                    name_memory(error, self._directory)
                    raise
            else:
                if changes == contents.changes and not changes & 1:
                    return found
            self._wait_for_change()

    def _wait_for_change(self) -> None:
        """Wait for the truncation or deletion that came in between. Raises where that was broken off."""
        with self._guard.lock:
            if self._contents.changes & 1:
                self._guard.refuse()
