"""What reads a log record by record, or waits for it to grow."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

from logstore.arguments import deadline_after, ensure_one_place, start_time_ms, whole_number
from logstore.errors import HoleError, LogStoreError
from logstore.log import reading
from logstore.log.reading.isolation import Isolation
from logstore.log.state.log_state import LogState
from logstore.log.state.waiters import LoopWaiter, ThreadWaiter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from logstore.batch.record import Record
    from logstore.log.reading.log_reader import LogReader
    from logstore.log.reading.place import Place
    from logstore.log.reading.tail import Tail
    from logstore.log.reading.view_source import ViewSource
    from logstore.log.state.log_contents import LogContents
    from logstore.log.state.log_environment import LogEnvironment
    from logstore.log.state.log_guard import LogGuard


class LogStreams:
    """Makes iterators over a log; see `Log.records`, `Log.tail`, `Log.wait`."""

    def __init__(self, environment: LogEnvironment, contents: LogContents, guard: LogGuard, reader: LogReader) -> None:
        """Read what the log holds at each moment."""
        self._directory = environment.directory
        self._contents = contents
        self._guard = guard
        self._reader = reader

    def records(
        self,
        start: int | None,
        end: int | None,
        since: int | datetime | None,
        isolation: Isolation,
        *,
        skip_holes: bool,
    ) -> Iterator[Record]:
        """Read to the end of the log, or to `end`."""
        end = None if end is None else whole_number(end, "end")
        place = self._place(start, since, self._contents.local_log_start_offset, isolation)
        return self._unseen(reading.view_source.ViewSource(self._reader, place, isolation, skip_holes=skip_holes), end)

    def _unseen(self, source: ViewSource, end: int | None) -> Iterator[Record]:
        """Yield records from a place that nobody sees: it moves from view to view."""
        place = source.place
        while end is None or place.offset < end:
            view = source.read()
            if not view.data:
                return
            order = source.order(view)
            try:
                for run in view.runs(order):
                    yield from run if end is None else _below(run, end)
            except LogStoreError as error:
                raise self._reader.explained(view.located(error)) from None
            place.offset = order.last_offset + 1

    def records_from(
        self, place: Place, end: int | None, isolation: Isolation, *, skip_holes: bool
    ) -> Iterator[Record]:
        """Read from a place on, which moves along."""
        source = reading.view_source.ViewSource(self._reader, place, isolation, skip_holes=skip_holes)
        while end is None or place.offset < end:
            view = source.read()
            if not view.data:
                return
            if end is None:
                yield from source.records(view)
                continue
            for record in source.records(view):
                if record.offset >= end:
                    place.offset = end
                    return
                yield record

    def tail(self, start: int | None, since: int | datetime | None, isolation: Isolation, *, skip_holes: bool) -> Tail:
        """Read on as the log grows."""
        place = self._place(start, since, self._end_for(isolation), isolation)
        return self.tail_from(place, isolation, skip_holes=skip_holes)

    def tail_from(self, place: Place, isolation: Isolation, *, skip_holes: bool) -> Tail:
        """Read on from a place, which moves along."""
        source = reading.view_source.ViewSource(self._reader, place, isolation, skip_holes=skip_holes)
        return reading.tail.Tail(self._contents, self._guard, source, isolation)

    def _place(self, start: int | None, since: int | datetime | None, default: int, isolation: Isolation) -> Place:
        if not isinstance(isolation, Isolation):
            raise TypeError(f"the isolation is {isolation!r}: pass Isolation.LOG_END or another of `Isolation`")
        self._guard.ensure_readable()
        place = reading.place.Place(self._directory, self._contents, default)
        ensure_one_place(start, since)
        if since is not None:
            # First: what is appended while nothing is found may be late enough.
            place.offset = self._contents.end[0]
            found = self._reader.offset_for_timestamp(start_time_ms(since))
            place.offset = place.offset if found is None else found.offset
        elif start is not None:
            place.offset = whole_number(start, "start")
        with suppress(HoleError):  # which who iterates is told of
            self._reader.read(place.offset, 0, Isolation.LOG_END, min_one_batch=False)  # refused now if out of range
        return place

    def _end_for(self, isolation: Isolation) -> int:
        if isolation is Isolation.HIGH_WATERMARK:
            return self._contents.high_watermark
        return self._contents.last_stable_offset if isolation is Isolation.READ_COMMITTED else self._contents.end[0]

    # --- waiting

    def wait(self, offset: int, timeout: float | None) -> bool:
        """Wait until the log's end is beyond `offset`."""
        offset, deadline = whole_number(offset, "offset"), deadline_after(timeout)
        if self._holds(offset):
            return True
        self._guard.ensure_not_nested()
        waiter = ThreadWaiter()
        try:
            self._contents.end_waiters.add(waiter)
            while not self._holds(offset):
                seconds = None if deadline is None else deadline - time.monotonic()
                if seconds is not None and seconds <= 0:
                    return False
                waiter.wait(seconds)
            return True
        finally:
            self._contents.end_waiters.remove(waiter)

    async def wait_async(self, offset: int, timeout: float | None) -> bool:  # noqa: ASYNC109  as `wait` has it
        """Do as `wait` does, in a task."""
        offset, deadline = whole_number(offset, "offset"), deadline_after(timeout)
        waiter = LoopWaiter()
        try:
            self._contents.end_waiters.add(waiter)
            while not self._holds(offset):
                seconds = None if deadline is None else deadline - time.monotonic()
                if not await waiter.wait(seconds):
                    return self._holds(offset)
            return True
        finally:
            self._contents.end_waiters.remove(waiter)

    def _holds(self, offset: int) -> bool:
        """Return whether the log's end is beyond `offset`. Raises where it cannot grow any more."""
        self._guard.ensure_readable()
        if self._contents.end[0] > offset:
            return True
        if self._guard.state is LogState.POISONED:
            self._guard.refuse()
        return False


def _below(records: Iterable[Record], end: int) -> Iterator[Record]:
    return takewhile(lambda record: record.offset < end, records)
