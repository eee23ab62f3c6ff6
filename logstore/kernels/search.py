"""Look up offsets and timestamps in the raw bytes of index files, without converting them first.

Slots of an offset index (8 bytes): the relative last offset of a batch i32, its position i32. Of a time index (12):
a timestamp i64, the relative offset i32. Both ascend. `entries` counts the slots in use (`count_entries`): those
after them were only preallocated, with zeros. Index bytes are best given read-only, as `np.frombuffer` gives those of
a mapping, so that no kernel is compiled a second time. A call costs about 0.3 µs before it looks at anything.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, inlined, kernel
from logstore.files import index_slots
from logstore.kernels.bytes import Data, int32, int64

OFFSET_SLOT = index_slots.OFFSET_SLOT
TIME_SLOT = index_slots.TIME_SLOT

TOGETHER = 16
"""So many searches run at the same time."""

NO_TIMESTAMP = -1
"""What Kafka answers for a timestamp before the first entry's."""


@kernel
def count_entries(index: Data, slot: int) -> int:
    """Count the slots of `slot` bytes up to the last one that is not all zeros.

    No real entry is all zeros. An offset index has none for a segment's first batch, at position 0; an entry for
    timestamp 0 at a segment's base offset is all that a time index could lose, and is one that nobody needs.
    """
    used = index.size // slot * slot
    while used > 0 and index[np.uint64(used - 1)] == 0:
        used -= 1
    return (used + slot - 1) // slot


@kernel
def lookup_offset(index: Data, entries: int, base_offset: int, offset: int) -> tuple[int, int]:
    """Find the last entry at or below `offset`: (last offset, position); (`base_offset`, 0) below the first."""
    return floor_offset(borrowed(index), entries, base_offset, offset)


@kernel
def lookup_offsets(
    index: Data,
    entries: int,
    base_offset: int,
    offsets: NDArray[np.int64],
    last_offset: NDArray[np.int64],
    position: NDArray[np.int64],
) -> None:
    """Do as `lookup_offset` for each of many offsets, into two columns of the same length.

    Some are searched at the same time and without branches, so that the memory answers them at the same time.
    """
    index = borrowed(index)
    entries, rows = min(entries, index.size // OFFSET_SLOT), min(offsets.size, last_offset.size, position.size)
    for first in range(0, rows if entries > 0 else 0, TOGETHER):
        together = range(first, min(first + TOGETHER, rows))
        for i in together:
            position[i] = 0  # the slot, until that is found
        left = entries
        while left > 1:
            half = left >> 1
            for i in together:
                reached = base_offset + int32(index, (position[i] + half) * OFFSET_SLOT)
                position[i] += half * (reached <= offsets[i])
            left -= half
        for i in together:
            at = position[i] * OFFSET_SLOT
            last_offset[i], position[i] = base_offset + int32(index, at), int32(index, at + 4)
    for i in range(rows):
        if entries <= 0 or last_offset[i] > offsets[i]:
            last_offset[i], position[i] = base_offset, 0


@kernel
def lookup_timestamp(index: Data, entries: int, base_offset: int, timestamp: int) -> tuple[int, int]:
    """Find the last entry at or before `timestamp`: (timestamp, offset); (-1, `base_offset`) before the first."""
    return floor_timestamp(borrowed(index), entries, base_offset, timestamp)


@kernel
def lookup_timestamps(
    index: Data,
    entries: int,
    base_offset: int,
    timestamps: NDArray[np.int64],
    found: NDArray[np.int64],
    offset: NDArray[np.int64],
) -> None:
    """Do as `lookup_timestamp` for each of many timestamps, into two columns of the same length.

    As `lookup_offsets` does.
    """
    index = borrowed(index)
    entries, rows = min(entries, index.size // TIME_SLOT), min(timestamps.size, found.size, offset.size)
    for first in range(0, rows if entries > 0 else 0, TOGETHER):
        together = range(first, min(first + TOGETHER, rows))
        for i in together:
            offset[i] = 0  # the slot, until that is found
        left = entries
        while left > 1:
            half = left >> 1
            for i in together:
                reached = int64(index, (offset[i] + half) * TIME_SLOT)
                offset[i] += half * (reached <= timestamps[i])
            left -= half
        for i in together:
            at = offset[i] * TIME_SLOT
            found[i], offset[i] = int64(index, at), base_offset + int32(index, at + 8)
    for i in range(rows):
        if entries <= 0 or found[i] > timestamps[i]:
            found[i], offset[i] = NO_TIMESTAMP, base_offset


@kernel
def first_unordered_offset(index: Data, entries: int) -> int:
    """Find the first slot of an offset index whose offset or position is not above those before it; -1 if none."""
    index = borrowed(index)
    offset, position = -1, -1
    for slot in range(min(entries, index.size // OFFSET_SLOT)):
        next_offset, next_position = int32(index, slot * OFFSET_SLOT), int32(index, slot * OFFSET_SLOT + 4)
        if next_offset <= offset or next_position <= position:
            return slot
        offset, position = next_offset, next_position
    return -1


@kernel
def first_unordered_timestamp(index: Data, entries: int) -> int:
    """Find the first slot of a time index whose timestamp is not above, or offset below, those before it; else -1.

    Records arrive in any order of time: two maxima in a row may well lie in one batch and share its offset.
    """
    index = borrowed(index)
    timestamp, offset = -1, 0
    for slot in range(min(entries, index.size // TIME_SLOT)):
        next_timestamp, next_offset = int64(index, slot * TIME_SLOT), int32(index, slot * TIME_SLOT + 8)
        if next_timestamp <= timestamp or next_offset < offset:
            return slot
        timestamp, offset = next_timestamp, next_offset
    return -1


@inlined
def floor_offset(index: Data, entries: int, base_offset: int, offset: int) -> tuple[int, int]:
    """Search an offset index by halving."""
    low, high = 0, min(entries, index.size // OFFSET_SLOT)
    while low < high:
        middle = (low + high) >> 1
        if base_offset + int32(index, middle * OFFSET_SLOT) <= offset:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return base_offset, 0
    at = (low - 1) * OFFSET_SLOT
    return base_offset + int32(index, at), int32(index, at + 4)


@inlined
def floor_timestamp(index: Data, entries: int, base_offset: int, timestamp: int) -> tuple[int, int]:
    """Search a time index by halving."""
    low, high = 0, min(entries, index.size // TIME_SLOT)
    while low < high:
        middle = (low + high) >> 1
        if int64(index, middle * TIME_SLOT) <= timestamp:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return NO_TIMESTAMP, base_offset
    at = (low - 1) * TIME_SLOT
    return int64(index, at), base_offset + int32(index, at + 8)
