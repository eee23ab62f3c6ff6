"""Check what is to be appended: the records of a producer's batch, the checksums of fetched batches."""

import numpy as np

from epoch.compiling.kernel import borrowed, kernel
from logstore.batch.compression.decompression_limit import MOST_HEADERS
from logstore.batch.layout import (
    ATTRIBUTES_AT,
    BASE_TIMESTAMP_AT,
    CRC_AT,
    CRC_START,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAX_TIMESTAMP_AT,
    PRODUCER_ID_AT,
    RECORD_COUNT_AT,
)
from logstore.kernels.bytes import Data, int16, int32, int64, uint32, wrapping_add
from logstore.kernels.crc import crc32c
from logstore.kernels.decode import fields, record_bounds
from logstore.kernels.scan import COMPLETE, what_follows
from logstore.log_config import MAX_INT64

NONE = -1
"""No record."""


@kernel
def inspect_records(
    data: Data,
    start: int,
    end: int,
    count: int,
    base_timestamp: int,
    earliest: int,
    latest: int,
) -> tuple[int, int, int, int, int, int]:
    """Walk over the records of a section: what `RecordInspection` holds, in its order.

    Timestamps outside of `earliest` to `latest` are bad, but for -1: none was set.
    """
    data = borrowed(data)
    position = start
    largest, first_delta, consecutive = -1, 0, 1
    keyless, untimely = NONE, NONE
    for i in range(count):
        begin, record_end = record_bounds(data, position, end)
        if record_end < 0:
            return i, keyless, untimely, largest, first_delta, consecutive
        time_delta, offset_delta, _, key_length, _, _, _, headers, sound = fields(data, begin, record_end)
        if not sound or headers > MOST_HEADERS:
            return i, keyless, untimely, largest, first_delta, consecutive
        timestamp = wrapping_add(base_timestamp, time_delta)
        if i == 0:
            first_delta = time_delta
        if offset_delta != i:
            consecutive = 0
        if key_length < 0 and keyless == NONE:
            keyless = i
        if timestamp != -1 and (timestamp < earliest or timestamp > latest) and untimely == NONE:
            untimely = i
        largest = max(largest, timestamp)
        position = record_end
    return NONE if position == end else count, keyless, untimely, largest, first_delta, consecutive


@kernel
def inspect_sent(sent: memoryview, now_ms: int, before_max_ms: int, after_max_ms: int) -> tuple[int, int]:
    """Check that `sent`, read-only, is one plain batch of a producer: see `append_fast_path`.

    Its timestamps may lie so long before and after now. Returns how many records it has, 0 where it is not plain, and
    their largest timestamp.
    """
    earliest, latest = now_ms - before_max_ms, now_ms + min(after_max_ms, MAX_INT64 - now_ms)
    data = borrowed(np.frombuffer(sent, np.uint8))
    if what_follows(data, 0, data.size) != COMPLETE or LOG_OVERHEAD + int32(data, LENGTH_AT) != data.size:
        return 0, -1
    count, largest = int32(data, RECORD_COUNT_AT), int64(data, MAX_TIMESTAMP_AT)
    if (
        int64(data, 0)
        or int16(data, ATTRIBUTES_AT)
        or int64(data, PRODUCER_ID_AT) != -1
        or count != int32(data, LAST_OFFSET_DELTA_AT) + 1
    ):
        return 0, -1
    if crc32c(data, CRC_START, data.size) != uint32(data, CRC_AT):
        return 0, -1
    broken, _, untimely, reached, _, _ = inspect_records(
        data, HEADER_SIZE, data.size, count, int64(data, BASE_TIMESTAMP_AT), earliest, latest
    )
    sound = broken == NONE and untimely == NONE and reached == largest
    return count if sound else 0, largest


@kernel
def first_corrupt(data: Data, start: int, end: int) -> int:
    """Where the first batch begins whose checksum does not match, -1 if all do.

    The batches, all of magic 2, fill the bytes from `start` to `end`: their lengths are checked already.
    """
    data = borrowed(data)
    position = start
    while position < end:
        following = position + LOG_OVERHEAD + int32(data, position + LENGTH_AT)
        if crc32c(data, position + CRC_START, following) != uint32(data, position + CRC_AT):
            return position
        position = following
    return -1
