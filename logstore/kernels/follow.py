"""Go over batches that a follower is about to append, once: headers, checksums, and the index entries that they add."""

import numpy as np
from numpy.typing import NDArray

from epoch.kernel import borrowed, kernel
from logstore.kernels.bytes import Data, int32, int64, uint32
from logstore.kernels.crc import crc32c
from logstore.kernels.scan import CHECKED_FROM, COMPLETE, END, OVERHEAD, what_follows

SMALLEST = -(2**63)

Column = NDArray[np.int64]


@kernel
def follow(
    data: Data,
    next_offset: int,
    leader_epoch: int,
    base_offset: int,
    position: int,
    indexed: int,
    interval: int,
    largest: int,
    offset_of_largest: int,
    slots: Column,
    timestamps: Column,
    offsets: Column,
) -> tuple[int, int, int, int, int, int]:
    """Check that all of `data` is plain batches: see `plain_append`. The columns take one row for each index entry.

    The segment's first offset and size, where the batch of its last index entry begins, and its largest timestamp with
    that one's offset are those before the append. Returns how many entries there are, -1 where `data` is not plain;
    the last offset, the largest timestamp in `data`, and the last three of the segment, as they are after it.
    """
    data = borrowed(data)
    at, rows = 0, 0
    last, newest = next_offset - 1, SMALLEST
    while True:
        stop = what_follows(data, at, data.size)
        if stop != COMPLETE:
            break
        first = int64(data, at)
        if first <= last or int32(data, at + 12) != leader_epoch or int64(data, at + 43) != -1:
            break
        whole = OVERHEAD + int32(data, at + 8)
        if crc32c(data, at + CHECKED_FROM, at + whole) != uint32(data, at + 17):
            break
        last = first + int32(data, at + 23)
        timestamp = int64(data, at + 35)
        newest = max(newest, timestamp)
        if timestamp > largest:
            largest, offset_of_largest = timestamp, last
        if position + at - indexed > interval:
            if rows == slots.size:
                break
            slots[rows] = (last - base_offset) << 32 | (position + at)
            timestamps[rows], offsets[rows] = largest, offset_of_largest
            indexed = position + at
            rows += 1
        at += whole
    return rows if stop == END else -1, last, newest, indexed, largest, offset_of_largest
