"""Find places in a segment by its indexes in memory, and the batches that a read returns by their headers too."""

from array import array

import numpy as np

from epoch.compiling.kernel import borrowed, brief_kernel, inlined
from logstore.batch.layout import LAST_OFFSET_DELTA_AT, LENGTH_AT, LOG_OVERHEAD, MAGIC, MAGIC_AT, SMALLEST_LENGTH
from logstore.kernels.bytes import int8, int32, int64
from logstore.kernels.prefetch import prefetch

NOT_FOUND = -1
PREFIX = LAST_OFFSET_DELTA_AT + 4
"""Bytes of a header up to the last offset delta: all that is looked at."""


@brief_kernel
def floor_value(keys: "array[int]", values: "array[int]", key: int, below: int) -> int:
    """Return the value beside the last of the ascending keys at or below `key`, and `below` where there is none."""
    count = count_to(keys, key, 0)
    return int(np.int64(values[count - 1])) if count else below


@brief_kernel
def find_batches(
    log: memoryview,
    offsets: "array[int]",
    positions: "array[int]",
    base_offset: int,
    offset: int,
    max_bytes: int,
    size: int,
) -> tuple[int, int, int]:
    """Find the first batch that ends at or beyond `offset` within the first `size` bytes, and all that follow it whole.

    The index has last offsets of batches, less `base_offset`, and positions, both ascending; there may be more of the
    latter. Returns the first batch's position and size, and where the last one ends: with the first one at least, and
    within `max_bytes` from its beginning. The position is NOT_FOUND where there is none, or one that is not of magic 2
    comes before.
    """
    data = borrowed(np.frombuffer(log, np.uint8))
    entries = count_to(offsets, offset - base_offset, 0)
    position = int(np.int64(positions[entries - 1])) if entries else 0
    prefetch(data, position)
    entries = count_to(positions, position + max_bytes, entries)
    near_end = int(np.int64(positions[entries - 1])) if entries else 0
    # Two cache misses at a time are as fast as one.
    prefetch(data, near_end)
    size = min(size, data.size)
    while True:
        if size - position < PREFIX:
            return NOT_FOUND, 0, 0
        length = int32(data, position + LENGTH_AT)
        if int8(data, position + MAGIC_AT) != MAGIC or length < SMALLEST_LENGTH:
            return NOT_FOUND, 0, 0
        if int64(data, position) + int32(data, position + LAST_OFFSET_DELTA_AT) >= offset:
            break
        position += LOG_OVERHEAD + length
    end = position + LOG_OVERHEAD + length
    if end - position >= max_bytes:
        return position, LOG_OVERHEAD + length, end
    if max_bytes >= size - position:
        return position, LOG_OVERHEAD + length, size
    limit = position + max_bytes
    end = max(end, near_end)
    while limit - end >= PREFIX:
        following = end + LOG_OVERHEAD + int32(data, end + LENGTH_AT)
        if not end < following <= limit:
            break
        end = following
    return position, LOG_OVERHEAD + length, end


@inlined
def count_to(ascending: "array[int]", value: int, low: int) -> int:
    """Count the elements up to `value`; `low` of them are known."""
    high = len(ascending)
    while low < high:
        middle = (low + high) >> 1
        if np.int64(ascending[middle]) <= value:
            low = middle + 1
        else:
            high = middle
    return low
