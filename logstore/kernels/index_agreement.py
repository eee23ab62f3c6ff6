"""Whether all entries of a segment's indexes agree with its batches, as in all but damaged or odd segments they do.

An answer of no says only that somebody has to look at the entries one by one.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, kernel
from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.kernels.bytes import Data, int32, int64
from logstore.kernels.search import OFFSET_SLOT, TIME_SLOT


@kernel
def offset_index_agrees(
    index: Data, base_offset: int, position: NDArray[np.int64], last_offset: NDArray[np.int64]
) -> bool:
    """Whether each slot of an offset index has the last offset and the position of a batch, in rising order.

    Not so where odd bytes or free slots follow the entries. Positions rise, and are as many as last offsets.
    """
    index = borrowed(index)
    row, reached = 0, -1
    for at in range(0, index.size // OFFSET_SLOT * OFFSET_SLOT, OFFSET_SLOT):
        relative_offset, entry = int32(index, at), int32(index, at + 4)
        if entry <= reached or (relative_offset == 0 and entry == 0):
            return False
        while row < position.size and position[row] < entry:
            row += 1
        if row == position.size or position[row] != entry or last_offset[row] != base_offset + relative_offset:
            return False
        reached = entry
    return index.size % OFFSET_SLOT == 0


@kernel
def time_index_agrees(
    index: Data,
    base_offset: int,
    first_offset: NDArray[np.int64],
    last_offset: NDArray[np.int64],
    max_timestamp: NDArray[np.int64],
) -> bool:
    """Whether each slot of a time index has the offset of a batch and a timestamp that none up to it exceeds.

    Not so where offsets do not rise from batch to batch, timestamps do not from entry to entry, one is before 1970 or
    later than all batches, or odd bytes or free slots follow the entries. The columns are equally long.
    """
    index = borrowed(index)
    at, end = 0, index.size // TIME_SLOT * TIME_SLOT
    largest, reached = NO_TIMESTAMP, -1
    for row in range(last_offset.size):
        if row > 0 and last_offset[row] <= last_offset[row - 1]:
            return False
        largest = max(largest, max_timestamp[row])
        while at < end and base_offset + int32(index, at + 8) <= last_offset[row]:
            timestamp = int64(index, at)
            if timestamp <= reached or timestamp < largest or base_offset + int32(index, at + 8) < first_offset[row]:
                return False
            reached = timestamp
            at += TIME_SLOT
    return at == index.size and reached <= max(largest, 0)
