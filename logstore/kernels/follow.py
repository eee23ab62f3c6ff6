"""Go over what a follower appends, once: headers, checksums, index entries; and write a single batch."""

from array import array

import numpy as np

from epoch.compiling.kernel import borrowed, inlined, kernel
from epoch.history import MAX_OFFSET
from logstore.batch.layout import (
    CRC_AT,
    CRC_START,
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAX_TIMESTAMP_AT,
    PRODUCER_ID_AT,
)
from logstore.kernels.bytes import Data, int32, int64, uint32
from logstore.kernels.crc import crc32c
from logstore.kernels.scan import COMPLETE, END, what_follows
from logstore.kernels.write import write

SMALLEST = -(2**63)


@inlined
def is_plain(data: Data, at: int, previous_offset: int, leader_epoch: int) -> bool:
    """Look at the whole batch of magic 2 that is there: see `append_fast_path`."""
    end = at + LOG_OVERHEAD + int32(data, at + LENGTH_AT)
    return (
        int64(data, at) > previous_offset
        and int32(data, at + LEADER_EPOCH_AT) == leader_epoch
        and int64(data, at + PRODUCER_ID_AT) == -1
        and crc32c(data, at + CRC_START, end) == uint32(data, at + CRC_AT)
    )


@kernel
def append_one(
    fetched: memoryview,
    descriptor: int,
    next_offset: int,
    leader_epoch: int,
    room: int,
    largest_offset: int,
    young_until: int,
) -> tuple[int, int, int, int, bool]:
    """Check that all of `fetched` is one plain batch, and write it to `descriptor`: what `AppendInfo` holds.

    The size is 0 and nothing is written to a negative descriptor, and where the batch is not plain, takes more than
    `room` bytes, reaches beyond `largest_offset`, or has a timestamp after `young_until`. The size is -1 where nothing
    could be written, or not all of it.
    """
    data = borrowed(np.frombuffer(fetched, np.uint8))
    size = data.size
    if (
        descriptor < 0
        or size > room
        or what_follows(data, 0, size) != COMPLETE
        or LOG_OVERHEAD + int32(data, LENGTH_AT) != size
        or not is_plain(data, 0, next_offset - 1, leader_epoch)
    ):
        return 0, -1, -1, 0, False
    first, newest = int64(data, 0), int64(data, MAX_TIMESTAMP_AT)
    last = first + int32(data, LAST_OFFSET_DELTA_AT)
    if last > largest_offset or newest > young_until:
        return 0, -1, -1, 0, False
    return first, last, newest, size if write(descriptor, data) == size else -1, False


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
    """Check that all of `fetched`, read-only, is plain batches: see `append_fast_path`.

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
        if stop != COMPLETE or not is_plain(data, at, last, leader_epoch):
            break
        whole = LOG_OVERHEAD + int32(data, at + LENGTH_AT)
        last = int64(data, at) + int32(data, at + LAST_OFFSET_DELTA_AT)
        timestamp = int64(data, at + MAX_TIMESTAMP_AT)
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
    rows = rows if stop == END and last < MAX_OFFSET else -1
    return rows, times, start, last, newest, indexed, largest, offset_of_largest
