"""Check the records that a producer sends in one batch, before the leader takes them."""

from epoch.kernel import borrowed, kernel
from logstore.kernels.bytes import Data, wrapping_add
from logstore.kernels.decode import fields, record_bounds

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
        time_delta, offset_delta, _, key_length, _, _, _, _, sound = fields(data, begin, record_end)
        if not sound:
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
