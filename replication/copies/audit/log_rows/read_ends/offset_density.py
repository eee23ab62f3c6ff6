"""About how many bytes of a log so many records take."""

from typing import Final

from epoch.history import MAX_OFFSET
from replication.copies.audit.log_rows.read_ends.log_heads import opened_heads
from replication.copies.audit.snapshots.work import Copy

_WHOLE: Final = 2
"""A copy of up to so many times what a task reads is not divided."""


def bytes_of(copy: Copy, records: int) -> int:
    """Return how many bytes a task reads so that it has about as many records at most, by the offsets of a copy.

    Segments' names show them, of a log of one segment its last batch. Raises OSError.
    """
    filled = [segment for segment in copy.segments if segment.size]
    if not filled:
        return MAX_OFFSET
    first, last = filled[0].base_offset, filled[-1].base_offset
    size = copy.bytes - filled[-1].size
    if first == last:
        with opened_heads(copy, MAX_OFFSET) as heads:
            head = heads.before(MAX_OFFSET)
        last, size = (head.last_offset + 1 if head else first), copy.bytes
    return max(size * records // max(last - first, 1) // _WHOLE, 1)
