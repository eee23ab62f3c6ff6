"""The first sound batch behind damage."""

from collections.abc import Callable
from typing import Final, NamedTuple

from logstore.batch.batch import RecordBatch
from logstore.batch.layout import HEADER_SIZE, LENGTH_AT, LOG_OVERHEAD, MAGIC, MAGIC_AT, SMALLEST_LENGTH
from logstore.errors import LogStoreError
from logstore.offline.log_file import LogFile

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
    search = _search(log, position)
    at = search(position + 1)
    while at >= 0:
        batch = RecordBatch(log.data, at)
        if lowest < batch.base_offset <= batch.last_offset < end:
            return FollowingBatch(at, batch.base_offset)
        at = search(at + 1)
    return None


def find_reaching(log: LogFile, position: int, offset: int) -> int | None:
    """Return where the first batch behind `position` begins that ends at `offset` or beyond; None without any."""
    search = _search(log, position)
    at = search(position + 1)
    while at >= 0 and RecordBatch(log.data, at).last_offset < offset:
        at = search(at + 1)
    return at if at >= 0 else None


def _search(log: LogFile, position: int) -> Callable[[int], int]:
    return _plain_search(log) if log.size - position <= _PLAIN_BYTES else _kernel_search(log)


def _kernel_search(log: LogFile) -> Callable[[int], int]:
    from logstore.offline.batch_search import BatchSearch  # noqa: PLC0415  numba loads on the first bulk operation

    return BatchSearch(log).find


def _plain_search(log: LogFile) -> Callable[[int], int]:
    def find(start: int) -> int:
        data = log.data[start:]
        copied = data.tobytes()
        at = copied.find(MAGIC, MAGIC_AT) - MAGIC_AT
        while 0 <= at <= len(data) - HEADER_SIZE:
            length = int.from_bytes(copied[at + LENGTH_AT : at + LOG_OVERHEAD], signed=True)
            if SMALLEST_LENGTH <= length <= len(data) - at - LOG_OVERHEAD and _is_valid(data, at):
                return start + at
            at = copied.find(MAGIC, at + MAGIC_AT + 1) - MAGIC_AT
        return -1

    return find


def _is_valid(data: memoryview, at: int) -> bool:
    try:
        return RecordBatch(data, at).is_valid()
    except LogStoreError:
        return False
