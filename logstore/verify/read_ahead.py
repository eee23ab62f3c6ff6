"""Process an item while another thread produces the next."""

from collections.abc import Iterator
from typing import Final, TypeVar

from logstore.awaited_threads import AwaitedThreads

Item = TypeVar("Item")

WORTH_A_THREAD: Final = 32 << 20
"""Bytes of a log that are read ahead; starting a thread for a smaller one costs more than it saves."""


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the same items, each made while the one before is worked on: kernels run without the GIL."""
    with AwaitedThreads(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
