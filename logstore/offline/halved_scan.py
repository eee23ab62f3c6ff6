"""A large log scanned by two threads: one core reads memory, and finds pages, no faster than one core does."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final, Protocol

from epoch.base.resource_limits import ResourceLimitError, usable_cores
from logstore.awaited_threads import AwaitedThreads
from logstore.batch.columns import BatchColumns, StopReason
from logstore.kernels.column_memory import KEPT
from logstore.kernels.column_scan import CHUNK_BYTES

SPAN: Final = 256 << 20
"""Bytes that both threads read before they meet."""
WORTH_TWO: Final = 8 << 20
"""Bytes of a span that is halved; of less, waking a thread costs more than it saves."""


class BatchSource(Protocol):
    """Where batches are read, by several threads at once."""

    @property
    def size(self) -> int:
        """Bytes that there are."""
        ...

    def scan(self, position: int, chunk_bytes: int) -> BatchColumns:
        """Read as `logstore.kernels.scan.scan` does."""
        ...

    def batch_near(self, position: int, end: int) -> int:
        """Find what could be a batch at `position` or a little later, and before `end`; -1 where there is none."""
        ...


def scan_source(source: BatchSource, position: int, *, threads: int) -> Iterator[BatchColumns]:
    """Scan from `position` on, chunk after chunk, to the one that says why there are no more.

    One thread does it, or two: at most `threads`, and no more than cores that the process may run on.
    """
    if source.size - position >= WORTH_TWO and min(threads, usable_cores()) > 1:
        return scan_in_halves(source, position)
    return scan_up_to(source, position, source.size)


def scan_in_halves(source: BatchSource, position: int) -> Iterator[BatchColumns]:
    """Scan as `scan_source` does, with two threads.

    Where a second half begins is a guess: bytes that could be a batch, which may lie within another one. It holds if
    the batches of the first half end right there. If they do not, what was read from there on is dropped, and so all
    that comes out is what one thread finds. Where no second thread can be started, one does it all.
    """
    stop = StopReason.MORE
    with AwaitedThreads(1) as thread:
        while stop is StopReason.MORE:
            end = min(position + SPAN, source.size)
            middle = _middle(source, position, end)
            second = None
            if middle < end:
                with suppress(ResourceLimitError):
                    # Of a half with many batches some are left for the next span: they would wait in memory.
                    second = thread.submit(list, islice(scan_up_to(source, middle, end), KEPT))
            for columns in scan_up_to(source, position, middle):
                yield columns
                position, stop = columns.next_position, columns.stop
            if second is not None and stop is StopReason.MORE and position == middle:
                for columns in second.result():
                    yield columns
                    position, stop = columns.next_position, columns.stop


def _middle(source: BatchSource, start: int, end: int) -> int:
    """Find where the second half begins; `end` where that is not known, or there is too little to halve."""
    if end - start < WORTH_TWO:
        return end
    found = source.batch_near((start + end) // 2, end)
    return found if found >= 0 else end


def scan_up_to(source: BatchSource, position: int, end: int) -> Iterator[BatchColumns]:
    """Scan the batches that begin before `end`, at least one."""
    while True:
        columns = source.scan(position, min(CHUNK_BYTES, end - position))
        yield columns
        position = columns.next_position
        if columns.stop is not StopReason.MORE or position >= end:
            return
