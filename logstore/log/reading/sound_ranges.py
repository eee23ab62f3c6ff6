"""Which bytes of a log were found sound, and when."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import itemgetter
from threading import Lock
from typing import Final, NamedTuple

from logstore.batch.batch_order import ADVICE, BatchOrder
from logstore.batch.batches import read_batch
from logstore.batch.decoding.plain_records import FEWEST_BYTES
from logstore.clock import monotonic_ms
from logstore.errors import CorruptBatchError, LogStoreError
from logstore.log.state.log_contents import LogContents, LogPlace
from logstore.segment.read_view import ReadView
from logstore.segment.view_records import VIEW_SCAN

MOST_RANGES: Final = 256
"""That are remembered of a log: where more are read, in pieces far apart, some are checked again."""
_PARTS: Final = 8
"""Into which the time is divided that a check counts: what is added to a range was checked that much later at most."""


class _Range(NamedTuple):
    start: int
    stop: int
    since_ms: int
    """Nothing of it was checked before."""


Ranges = tuple[_Range, ...]
"""Of a segment, by position; none overlap."""
_start_of: Final = itemgetter(0)
_stop_of: Final = itemgetter(1)


class SoundRanges:
    """Checks what is read of a log unless it was checked, or appended, not long ago. Any number of threads may call.

    Who looks takes no lock: what is known is put in place as a whole.
    """

    __slots__ = ("_clock", "_contents", "_ends", "_lock", "_max_age_ms", "_ranges")

    def __init__(
        self, contents: LogContents, max_age_ms: int | None = None, clock: Callable[[], int] = monotonic_ms
    ) -> None:
        """Let a check, or an append, count for `max_age_ms`; None: for ever, of a log that nobody writes."""
        self._contents = contents
        self._max_age_ms = max_age_ms
        self._clock = clock
        self._lock = Lock()
        """Of who adds to the ranges."""
        self._ranges: dict[int, Ranges] = {}
        """By the segments' base offsets; those that were added to last come last."""
        self._ends: tuple[tuple[int, LogPlace], ...] = ((clock(), contents.end),)
        """Where the log ended, and when, in the order of time: what lies behind was appended, and checked, since."""

    @property
    def max_age_ms(self) -> int:
        """How long a check counts; -1: for ever."""
        return -1 if self._max_age_ms is None else self._max_age_ms

    def checked(self, view: ReadView) -> ReadView:
        """Return what was read, up to the first damaged batch. Raises CorruptBatchError where it begins with that."""
        if not view.data:
            return view
        now = 0 if self._max_age_ms is None else self._clock()
        start, stop = view.position, view.position + len(view.data)
        if self._is_new(view, now) or self._is_known(view.segment_base_offset, start, stop, now):
            return view
        size, fault = _sound_size(view)
        if not size:
            raise self._damaged(view, fault)
        self._note(view.segment_base_offset, start, start + size, now)
        if size < len(view.data):
            view.data = view.data[:size]
        return view

    def _is_new(self, view: ReadView, now: int) -> bool:
        """Tell whether all was appended within the time that counts."""
        age = self._max_age_ms
        if not age:
            return False
        ends = self._ends
        if now - ends[-1][0] > age // _PARTS:
            young = tuple(end for end in ends if now - end[0] <= age)
            self._ends = ends = (*young, (now, self._contents.end))
        since, (_, segment, position) = ends[0]
        return now - since <= age and (view.segment_base_offset, view.position) >= (segment, position)

    def _is_known(self, segment: int, start: int, stop: int, now: int) -> bool:
        ranges, age = self._ranges.get(segment, ()), self._max_age_ms
        for known in ranges[bisect_right(ranges, start, key=_stop_of) :]:
            if known.start > start or (age is not None and now - known.since_ms > age):
                return False
            if known.stop >= stop:
                return True
            start = known.stop
        return False

    def _note(self, segment: int, start: int, stop: int, now: int) -> None:
        """Remember a range: what touches it and is not much older becomes one with it."""
        age = self._max_age_ms
        if age == 0:
            return
        with self._lock:
            ranges = self._ranges.pop(segment, ())
            first, last = bisect_left(ranges, start, key=_stop_of), bisect_right(ranges, stop, key=_start_of)
            since, rest = now, []
            for known in ranges[first:last]:
                if age is None or now - known.since_ms <= age // _PARTS:
                    start, stop, since = min(start, known.start), max(stop, known.stop), min(since, known.since_ms)
                else:
                    rest.append(known)
            before = [known._replace(stop=start) for known in rest if known.start < start]
            after = [known._replace(start=stop) for known in rest if known.stop > stop]
            whole = (*ranges[:first], *before, _Range(start, stop, since), *after, *ranges[last:])
            self._ranges[segment] = whole[-MOST_RANGES:]
            while sum(map(len, self._ranges.values())) > MOST_RANGES:
                del self._ranges[next(iter(self._ranges))]

    def _damaged(self, view: ReadView, fault: LogStoreError | None) -> CorruptBatchError:
        segments = self._contents.segments.segments
        paths = [each.file.path for each in segments if each.base_offset == view.segment_base_offset]
        return CorruptBatchError(
            f"the batch is damaged: {'' if fault is None else fault.what}",
            file=paths[0] if paths else None,
            position=view.position,
            offset=view.offset,
            advice=ADVICE,
        )


def _sound_size(view: ReadView) -> tuple[int, LogStoreError | None]:
    """Count the bytes of the batches before the first that is damaged, or does not fit between those around it."""
    data, around, order, end = view.data, view.surroundings, BatchOrder(), 0
    try:
        while end < len(data):
            scan = VIEW_SCAN.ready() if len(data) - end >= FEWEST_BYTES else None
            columns = None if scan is None else scan(data, end, len(data), order, around)
            if columns is not None and len(columns):
                first, following = int(columns.base_offset[0]), columns.next_position
            else:
                # The kernel ends at damage, and at formats of before Kafka 0.11.
                batch = read_batch(data, end)
                batch.ensure_valid()
                order.take(batch, around)
                first, following = batch.base_offset, end + batch.size
            if not end:
                view.ensure_begin(first)
            end = following
    except LogStoreError as error:
        return end, error
    return end, None
