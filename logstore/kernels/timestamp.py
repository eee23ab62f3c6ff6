"""Find a record of a batch by its timestamp, without decoding the others."""

from epoch.kernel import borrowed, kernel
from logstore.kernels.bytes import Data, varint, varlong, wrapping_add
from logstore.kernels.decode import record_bounds

NOT_FOUND = -1
NOT_SOUND = -2


@kernel
def first_record_from(
    data: Data, start: int, end: int, count: int, base_offset: int, base_timestamp: int, timestamp: int, offset: int
) -> tuple[int, int]:
    """Return timestamp and offset of the first record that is neither before `timestamp` nor below `offset`.

    The offset is NOT_FOUND without such a record, and NOT_SOUND where the records before it cannot be read.
    """
    data = borrowed(data)
    position = start
    for _ in range(count):
        begin, record_end = record_bounds(data, position, end)
        if record_end < 0:
            return 0, NOT_SOUND
        time_delta, position = varlong(data, begin + 1, record_end)
        offset_delta, position = varint(data, position, record_end)
        if position > record_end or offset_delta < 0:
            return 0, NOT_SOUND
        reached = wrapping_add(base_timestamp, time_delta)
        if reached >= timestamp and base_offset + offset_delta >= offset:
            return reached, base_offset + offset_delta
        position = record_end
    return 0, NOT_FOUND
