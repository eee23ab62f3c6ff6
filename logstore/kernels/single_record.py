"""Find one record by its offset: the batch that has it, held against those around it, and its place in that batch."""

from array import array

import numpy as np

from epoch.compiling.kernel import borrowed, brief_kernel
from logstore.batch.layout import (
    CRC_AT,
    CRC_START,
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
)
from logstore.kernels.bytes import int8, int32, int64, uint32, varint, varlong
from logstore.kernels.crc import crc32c
from logstore.kernels.decode import fields, record_bounds
from logstore.kernels.locate import count_to
from logstore.kernels.scan import COMPLETE, what_follows

NOT_FOUND = -1
"""There is none; or there may be one, which takes a closer look."""
MOST_BYTES = 1 << 16
"""Of batches looked at: the caller keeps the interpreter's lock meanwhile."""


@brief_kernel
def find_sound_batch(
    log: memoryview, offsets: "array[int]", positions: "array[int]", base_offset: int, offset: int, size: int, end: int
) -> int:
    """Return where the first batch is that ends at or beyond `offset`, within the first `size` bytes of a segment.

    That is certain: from the index's entry before it on, all batches up to it are sound, of magic 2, and rise; it ends
    below `end` and the batch that follows, and its leader epoch is not above that one's. NOT_FOUND in all other cases.
    `log` may have fewer bytes. The index is as for `find_batches`.
    """
    data = borrowed(np.frombuffer(log, np.uint8))
    # An entry for `offset` itself would lead to the batch, and not to the one before.
    entries = count_to(offsets, offset - base_offset - 1, 0)
    indexed = base_offset + np.int64(offsets[entries - 1]) if entries else offset
    start = position = int(np.int64(positions[entries - 1])) if entries else 0
    reached = -1 if position else base_offset - 1
    is_led_right = bool(entries == 0)
    while True:
        if what_follows(data, position, min(size, data.size)) != COMPLETE:
            return NOT_FOUND
        following = position + LOG_OVERHEAD + int32(data, position + LENGTH_AT)
        first = int64(data, position)
        last = first + int32(data, position + LAST_OFFSET_DELTA_AT)
        if following - start > MOST_BYTES or first <= reached:
            return NOT_FOUND
        if crc32c(data, position + CRC_START, following) != uint32(data, position + CRC_AT):
            return NOT_FOUND
        if last >= offset:
            break
        is_led_right = is_led_right or bool(first <= indexed <= last)
        position, reached = following, last
    if not is_led_right or last >= end:
        return NOT_FOUND
    if following == size:
        return position
    if min(size, data.size) - following <= MAGIC_AT or int64(data, following) <= last:
        return NOT_FOUND
    next_epoch = int32(data, following + LEADER_EPOCH_AT)
    if int8(data, following + MAGIC_AT) == MAGIC and 0 <= next_epoch < int32(data, position + LEADER_EPOCH_AT):
        return NOT_FOUND
    return position


@brief_kernel
def find_record_at(section: memoryview, count: int, offset_delta: int) -> tuple[int, int, int, int, int, int, int, int]:
    """Find the first of `count` records that has this offset delta.

    Where it starts and ends in `section`, its timestamp delta, start and length of key and value, and how many headers
    it has: NOT_FOUND where there is none, or it or one before cannot be read.
    """
    data = borrowed(np.frombuffer(section, np.uint8))
    position = 0
    for _ in range(count):
        start, end = record_bounds(data, position, data.size)
        _, at = varlong(data, start + 1, end)
        found, at = varint(data, at, end)
        if end < 0 or at > end:
            return 0, 0, 0, 0, 0, 0, 0, NOT_FOUND
        if found == offset_delta:
            delta, _, key, key_size, value, value_size, _, headers, sound = fields(data, start, end)
            return position, end, delta, key, key_size, value, value_size, headers if sound else NOT_FOUND
        position = end
    return 0, 0, 0, 0, 0, 0, 0, NOT_FOUND
