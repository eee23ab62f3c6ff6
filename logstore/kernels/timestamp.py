"""Find a record by its timestamp, without decoding the others."""

import numpy as np

from epoch.compiling.kernel import borrowed, kernel
from logstore.batch.batch_attributes import CODEC_BITS, TIMESTAMP_TYPE_BIT
from logstore.batch.layout import (
    ATTRIBUTES_AT,
    BASE_TIMESTAMP_AT,
    HEADER_SIZE,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAX_TIMESTAMP_AT,
    RECORD_COUNT_AT,
)
from logstore.kernels.bytes import Data, int16, int32, int64, varint, varlong, wrapping_add
from logstore.kernels.data import LINE
from logstore.kernels.decode import AHEAD, record_bounds
from logstore.kernels.prefetch import prefetch
from logstore.kernels.scan import COMPLETE, what_follows

NOT_FOUND = -1
NOT_SOUND = -2


@kernel
def find_record(log: memoryview, position: int, timestamp: int, offset: int) -> tuple[int, int, int, int]:
    """Find the first record of the batches from `position` on that is neither before `timestamp` nor below `offset`.

    `log` is read-only. Return that record's batch's position, its timestamp and offset, and its batch's leader epoch.
    The offset is NOT_FOUND where no batch up to that position has such a record: it is the end, or that of a batch
    which this kernel does not read: compressed, with timestamps that the leader set, of an older format or damaged.
    """
    data = borrowed(np.frombuffer(log, np.uint8))
    while what_follows(data, position, data.size) == COMPLETE:
        end = position + LOG_OVERHEAD + int32(data, position + LENGTH_AT)
        if int64(data, position + MAX_TIMESTAMP_AT) >= timestamp:
            if int16(data, position + ATTRIBUTES_AT) & (CODEC_BITS | TIMESTAMP_TYPE_BIT):
                break
            base_offset, base_timestamp = int64(data, position), int64(data, position + BASE_TIMESTAMP_AT)
            found, at = first_record_from(
                data,
                position + HEADER_SIZE,
                end,
                int32(data, position + RECORD_COUNT_AT),
                base_offset,
                base_timestamp,
                timestamp,
                offset,
            )
            if at >= 0:
                return position, found, at, int32(data, position + LEADER_EPOCH_AT)
            if at == NOT_SOUND:
                break
        position = end
    return position, 0, NOT_FOUND, 0


@kernel
def first_record_from(
    data: Data, start: int, end: int, count: int, base_offset: int, base_timestamp: int, timestamp: int, offset: int
) -> tuple[int, int]:
    """Find the record of that kind in one batch's records: timestamp and offset.

    The offset is NOT_FOUND without such a record, and NOT_SOUND where the records before it cannot be read.
    """
    data = borrowed(data)
    for ahead in range(start, start + AHEAD, LINE):
        prefetch(data, ahead)
    position = start
    for _ in range(count):
        prefetch(data, position + AHEAD)
        begin, record_end = record_bounds(data, position, end)
        if record_end < 0:
            return 0, NOT_SOUND
        time_delta, position = varlong(data, begin + 1, record_end)
        offset_delta, position = varint(data, position, record_end)
        if position > record_end or offset_delta < 0:
            return 0, NOT_SOUND
        reached = wrapping_add(base_timestamp, time_delta)
        at = wrapping_add(base_offset, offset_delta)
        if reached >= timestamp and at >= offset:
            return reached, at
        position = record_end
    return 0, NOT_FOUND
