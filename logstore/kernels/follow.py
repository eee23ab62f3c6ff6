"""Go over batches that a follower is about to append, once: headers, checksums, and the index entries that they add."""

from array import array

import numpy as np

from epoch.kernel import borrowed, kernel
from logstore.kernels.bytes import int32, int64, uint32
from logstore.kernels.crc import crc32c
from logstore.kernels.scan import CHECKED_FROM, COMPLETE, END, OVERHEAD, what_follows

SMALLEST = -(2**63)


@kernel
def follow(
    fetched: memoryview,
    next_offset: int,
    leader_epoch: int,
    base_offset: int,
    position: int,
    indexed: int,
    interval: int,
    largest: int,
    offset_of_largest: int,
    entries: "array[int]",
) -> tuple[int, int, int, int, int, int, int, int]:
    """Check that all of `fetched`, read-only, is plain batches: see `plain_append`.

    The segment's first offset and size, where the batch of its last index entry begins, and its largest timestamp with
    that one's offset are those before the append. The quarters of `entries` take what the indexes get: last offsets,
    less the segment's first, and positions; the largest timestamps there, each once, and their offsets.

    Returns how many entries there are for the offset index, -1 where not all is plain, and for the time index; the
    first offset, the last, and the largest timestamp in `fetched`; and the last three of the segment after the append.
    """
    data = borrowed(np.frombuffer(fetched, np.uint8))
    room = len(entries) // 4
    at, rows, times = 0, 0, 0
    last, newest, timed = next_offset - 1, SMALLEST, SMALLEST
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
            if rows == room:
                break
            entries[rows], entries[room + rows] = last - base_offset, position + at
            rows += 1
            if largest > timed:
                entries[2 * room + times], entries[3 * room + times] = largest, offset_of_largest
                timed = largest
                times += 1
            indexed = position + at
        at += whole
    start = int64(data, 0) if at else next_offset
    return rows if stop == END else -1, times, start, last, newest, indexed, largest, offset_of_largest
