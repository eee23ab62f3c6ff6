"""Which bytes of a log were found sound, and when."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from threading import Lock
from typing import Final, NamedTuple

from logstore.batch.batch_order import ADVICE
from logstore.clock import monotonic_ms
from logstore.errors import CorruptBatchError, LogStoreError
from logstore.log.reading.sound_bytes import SoundBytes
from logstore.log.state.log_contents import LogContents, LogPlace
from logstore.segment.read_view import ReadView

MOST_RANGES: Final = 256
"""That are remembered of a log: where more are read, in pieces far apart, some are checked again."""
AT_ONCE_BYTES: Final = 1 << 20
"""That are checked at once for who reads on: as to begin takes as long as some hundred KiB."""
_PARTS: Final = 8
"""Into which the time is divided that a check counts: what is added to a range was checked that much later at most."""
_NEVER: Final = 1 << 63
"""Milliseconds that no clock reaches."""


class _Range(NamedTuple):
    start: int
    stop: int
    until_ms: int
    """So long all of it counts as sound."""


Ranges = tuple[tuple[int, ...], tuple[_Range, ...]]
"""Of a segment, by position, none of which overlap; and where they start."""
_NO_RANGES: Final[Ranges] = ((), ())


class SoundRanges:
    """Checks what is read of a log unless it was checked, or appended, not long ago. Any number of threads may call.

    Who looks takes no lock: what is known is put in place as a whole.
    """

    __slots__ = ("_appended", "_clock", "_contents", "_ends", "_latest", "_lock", "_max_age_ms", "_ranges")

    def __init__(
        self, contents: LogContents, max_age_ms: int | None = None, clock: Callable[[], int] = monotonic_ms
    ) -> None:
        """Create it; a check or an append is valid for `max_age_ms`; None: forever, for a log nobody writes."""
        self._contents = contents
        self._max_age_ms = max_age_ms
        self._clock = clock
        self._lock = Lock()
        """Of who adds to the ranges."""
        self._ranges: dict[int, Ranges] = {}
        """By the segments' base offsets; those that were added to last come last."""
        self._latest = (-1, 0, 0, 0)
        """The range in which somebody has read last: its segment, start, stop, and how long it counts."""
        self._ends: tuple[tuple[int, LogPlace], ...] = ()
        """Where the log ended, and when, in the order of time: what lies behind was appended, and checked, since."""
        self._appended = (_NEVER, _NEVER, 0)
        """Until when what lies behind a place counts as just appended, and its segment and position."""
        if max_age_ms:
            self._turn(clock(), max_age_ms)

    @property
    def max_age_ms(self) -> int:
        """How long a check counts; -1: for ever."""
        return -1 if self._max_age_ms is None else self._max_age_ms

    def checked(self, view: ReadView) -> ReadView:
        """Return what was read, up to the first damaged batch. Raises CorruptBatchError where it begins with that."""
        size = len(view.data)
        if not size:
            return view
        now, segment, start = self._clock(), view.segment_base_offset, view.position
        known_segment, known_start, known_stop, until = self._latest
        if segment == known_segment and known_start <= start and start + size <= known_stop and now <= until:
            return view
        if self._is_new(segment, start, now) or self._is_known(segment, start, start + size, now):
            return view
        return self._found_sound(view, now)

    def _is_new(self, segment: int, start: int, now: int) -> bool:
        """Whether all was appended recently enough to be valid."""
        turn_ms, first_segment, first_position = self._appended
        if now > turn_ms and self._max_age_ms:
            _, first_segment, first_position = self._turn(now, self._max_age_ms)
        return segment > first_segment or (segment == first_segment and start >= first_position)

    def _turn(self, now: int, age: int) -> tuple[int, int, int]:
        """Forget where the log ended too long ago, and remember where it ends now."""
        young = tuple(end for end in self._ends if now - end[0] <= age)
        if not young or now - young[-1][0] > age // _PARTS:
            young = (*young, (now, self._contents.end))
        self._ends = young
        since, (_, segment, position) = young[0]
        self._appended = turned = (min(since + age, young[-1][0] + age // _PARTS), segment, position)
        return turned

    def _is_known(self, segment: int, start: int, stop: int, now: int) -> bool:
        starts, ranges = self._ranges.get(segment, _NO_RANGES)
        for number in range(max(0, bisect_right(starts, start) - 1), len(ranges)):
            known = ranges[number]
            if not known.start <= start <= known.stop or now > known.until_ms:
                return False
            if known.stop >= stop:
                self._latest = (segment, *known)
                return True
            start = known.stop
        return False

    def _found_sound(self, view: ReadView, now: int) -> ReadView:
        """Check what was read, and some of what follows it, for who reads on."""
        segment, start = view.segment_base_offset, view.position
        size, fault = SoundBytes.of(view, self._ahead(segment, start, now))
        if not size:
            raise self._damaged(view, fault)
        self._note(segment, start, start + size, now)
        if size < len(view.data):
            view.data = view.data[:size]
        return view

    def _ahead(self, segment: int, start: int, now: int) -> int:
        """Count the bytes that are worth checking at once, up to what is known already."""
        if self._max_age_ms == 0:
            return 0
        starts, ranges = self._ranges.get(segment, _NO_RANGES)
        number = bisect_right(starts, start)
        if number < len(ranges) and now <= ranges[number].until_ms:
            return min(AT_ONCE_BYTES, starts[number] - start)
        return AT_ONCE_BYTES

    def _note(self, segment: int, start: int, stop: int, now: int) -> None:
        """Remember a range: what touches it and is not much older becomes one with it."""
        age = self._max_age_ms
        if age == 0:
            return
        until, oldest = (_NEVER, _NEVER) if age is None else (now + age, now + age - age // _PARTS)
        with self._lock:
            starts, ranges = self._ranges.pop(segment, _NO_RANGES)
            first, last = bisect_left(starts, start), bisect_right(starts, stop)
            if first and ranges[first - 1].stop >= start:
                first -= 1
            touched = ranges[first:last]
            for known in touched:
                if known.until_ms >= oldest:
                    start, stop, until = min(start, known.start), max(stop, known.stop), min(until, known.until_ms)
            before = [known._replace(stop=start) for known in touched if known.start < start]
            after = [known._replace(start=stop) for known in touched if known.stop > stop]
            noted = _Range(start, stop, until)
            among = (*before, noted, *after)
            ranges = (*ranges[:first], *among, *ranges[last:])[-MOST_RANGES:]
            starts = (*starts[:first], *(each.start for each in among), *starts[last:])[-MOST_RANGES:]
            self._ranges[segment] = starts, ranges
            while sum(len(starts) for starts, _ in self._ranges.values()) > MOST_RANGES:
                del self._ranges[next(iter(self._ranges))]
        self._latest = (segment, *noted)

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
