"""The first sound batch behind damage."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from logstore.batch.batch import RecordBatch
from logstore.batch.layout import ATTRIBUTES_AT, HEADER_SIZE, LENGTH_AT, LOG_OVERHEAD, MAGIC, MAGIC_AT, SMALLEST_LENGTH
from logstore.checksum import crc32c
from logstore.errors import LogStoreError
from logstore.offline.log_file import LogFile

_TRIES: Final = 64
"""Batches behind a damaged one that are looked at for one to which its checksum reaches."""
_PLAIN_BYTES: Final = 1 << 20
"""So many are searched without the kernel, which takes longer to load."""


class FollowingBatch(NamedTuple):
    """Where a log can be read again."""

    position: int
    base_offset: int


def find_following(log: LogFile, position: int, lowest: int, end: int) -> FollowingBatch | None:
    """Find the first batch behind `position` with offsets above `lowest` and below `end`; None without any.

    No checksum covers a batch's base offset: one that lies elsewhere is not believed. Whatever was at `position` had
    `lowest`, or a later offset.
    """
    for at in _behind(log, position):
        batch = RecordBatch(log.data, at)
        if lowest < batch.base_offset <= batch.last_offset < end:
            return FollowingBatch(at, batch.base_offset)
    return None


def find_reaching(log: LogFile, position: int, offset: int) -> int | None:
    """Return where the first batch behind `position` begins that ends at `offset` or beyond; None without any."""
    return next((at for at in _behind(log, position) if RecordBatch(log.data, at).last_offset >= offset), None)


def _behind(log: LogFile, position: int) -> Iterator[int]:
    """Yield where sound batches begin behind `position`, and none that is within another's records."""
    search = _search(log, position)
    at = _next(log, position, search)
    while at >= 0:
        yield at
        at = _next(log, at, search)


def _next(log: LogFile, at: int, search: Callable[[int], int]) -> int:
    """Return where the next sound batch begins behind `at`; -1 without any.

    A batch leads to the next one by its length; that of a damaged one is believed if the two fit together.
    """
    while (batch := _batch_at(log, at)) is not None:
        end = at + batch.size
        following = _batch_at(log, end)
        if batch.is_valid():
            return end if following is not None and following.is_valid() else search(end)
        if following is None or following.base_offset != batch.last_offset + 1:
            return _searched(log, batch, search)
        if following.is_valid():
            return end
        at = end
    led_to = at + LOG_OVERHEAD + int.from_bytes(log.data[at + LENGTH_AT : at + LOG_OVERHEAD], signed=True)
    following = _batch_at(log, led_to) if led_to > at else None
    return led_to if following is not None and following.is_valid() else search(at + 1)


def _searched(log: LogFile, damaged: RecordBatch, search: Callable[[int], int]) -> int:
    """Return where the next sound batch begins behind a damaged one, whose length may be what is damaged.

    A batch within its bytes is one in a record's value, unless its checksum matches if it ends there.
    """
    begin, end = damaged.position, damaged.position + damaged.size
    behind, tries = -1, _TRIES
    at = search(begin + 1)
    while at >= 0 and tries:
        if crc32c(log.data[begin + ATTRIBUTES_AT : at]) == damaged.crc:
            return at
        if at >= end:
            behind, tries = (at if behind < 0 else behind), tries - 1
        at = search(at + 1)
    return behind


def _batch_at(log: LogFile, at: int) -> RecordBatch | None:
    try:
        return RecordBatch(log.data, at) if log.data[at + MAGIC_AT] == MAGIC else None
    except (IndexError, LogStoreError):
        return None


def _search(log: LogFile, position: int) -> Callable[[int], int]:
    return _plain_search(log, position) if log.size - position <= _PLAIN_BYTES else _kernel_search(log)


def _kernel_search(log: LogFile) -> Callable[[int], int]:
    from logstore.offline.batch_search import BatchSearch  # noqa: PLC0415  numba loads on the first bulk operation

    return BatchSearch(log).find


def _plain_search(log: LogFile, begin: int) -> Callable[[int], int]:
    copied = log.data[begin:].tobytes()

    def find(start: int) -> int:
        at = copied.find(MAGIC, start - begin + MAGIC_AT) - MAGIC_AT
        while 0 <= at <= len(copied) - HEADER_SIZE:
            length = int.from_bytes(copied[at + LENGTH_AT : at + LOG_OVERHEAD], signed=True)
            if SMALLEST_LENGTH <= length <= len(copied) - at - LOG_OVERHEAD and _is_valid(log.data, begin + at):
                return begin + at
            at = copied.find(MAGIC, at + MAGIC_AT + 1) - MAGIC_AT
        return -1

    return find


def _is_valid(data: memoryview, at: int) -> bool:
    try:
        return RecordBatch(data, at).is_valid()
    except LogStoreError:
        return False
