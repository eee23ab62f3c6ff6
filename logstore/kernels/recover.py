"""Go over a log after a crash, once: headers, checksums, index entries, leader epochs, timestamps, producers' batches.

The pass stops at the first batch that is torn, damaged, or does not fit the segment, and says why. What it finds goes
into small columns; where one of them is full the pass stops with MORE, to go on from the same state with empty ones.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, kernel
from logstore.batch.columns import StopReason
from logstore.batch.layout import (
    CRC_AT,
    CRC_START,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAX_TIMESTAMP_AT,
    PRODUCER_ID_AT,
)
from logstore.files.index_slots import MAX_RELATIVE_OFFSET
from logstore.kernels.bytes import Data, int32, int64, uint32
from logstore.kernels.crc import crc32c
from logstore.kernels.data import read_only
from logstore.kernels.prefetch import prefetch
from logstore.kernels.recovery_state import (
    BASE_OFFSET,
    BATCHES,
    EPOCH,
    EPOCH_ROWS,
    INDEX_ROWS,
    INDEXED,
    IS_ORDERED,
    LAST_OFFSET,
    MAX_TIMESTAMP,
    MAX_TIMESTAMP_OFFSET,
    POSITION,
    PRODUCER_ROWS,
    RecoveryColumns,
)
from logstore.kernels.scan import AHEAD, COMPLETE, MORE, what_follows

BAD_CRC = int(StopReason.BAD_CRC)
OUT_OF_RANGE = int(StopReason.OUT_OF_RANGE)
OUT_OF_ORDER = int(StopReason.OUT_OF_ORDER)


def recover(
    data: Data, end: int, *, base_offset: int, interval: int, state: NDArray[np.int64], columns: RecoveryColumns
) -> int:
    """Go on with a pass over `data[:end]`, from where `state` stands; return a stop reason.

    `interval` is the number of bytes between index entries (`index_interval_bytes`). The columns are filled from
    their beginning; `state` has how many rows of each.
    """
    if not 0 <= state[POSITION] <= end <= len(data):
        raise ValueError(f"Positions {state[POSITION]} to {end} are not within the {len(data)} bytes given")
    return recover_batches(
        read_only(data),
        end,
        base_offset,
        interval,
        state,
        columns.index_offset,
        columns.index_position,
        columns.time_timestamp,
        columns.time_offset,
        columns.epoch,
        columns.epoch_offset,
        columns.producer_position,
    )


@kernel
def recover_batches(
    data: Data,
    end: int,
    base_offset: int,
    interval: int,
    state: NDArray[np.int64],
    index_offset: NDArray[np.int64],
    index_position: NDArray[np.int64],
    time_timestamp: NDArray[np.int64],
    time_offset: NDArray[np.int64],
    epochs: NDArray[np.int64],
    epoch_offsets: NDArray[np.int64],
    producer_positions: NDArray[np.int64],
) -> int:
    """Do the pass of `recover`."""
    data = borrowed(data)
    at, indexed, last = state[POSITION], state[INDEXED], state[LAST_OFFSET]
    largest, offset_of_largest, epoch = state[MAX_TIMESTAMP], state[MAX_TIMESTAMP_OFFSET], state[EPOCH]
    first, batches = state[BASE_OFFSET], state[BATCHES]
    is_ordered = state[IS_ORDERED] != 0
    index_rows, epoch_rows, producer_rows = 0, 0, 0
    rows = min(index_offset.size, epochs.size, producer_positions.size)
    while True:
        stop = what_follows(data, at, end)
        if stop != COMPLETE:
            break
        if index_rows == rows or epoch_rows + 2 > rows or producer_rows == rows:
            stop = MORE
            break
        whole = LOG_OVERHEAD + int32(data, at + LENGTH_AT)
        prefetch(data, at + AHEAD * whole)
        prefetch(data, at + AHEAD * whole + HEADER_SIZE - 1)
        if crc32c(data, at + CRC_START, at + whole) != uint32(data, at + CRC_AT):
            stop = BAD_CRC
            break
        last_of_batch = int64(data, at) + int32(data, at + LAST_OFFSET_DELTA_AT)
        if last_of_batch < base_offset or last_of_batch - base_offset > MAX_RELATIVE_OFFSET:
            stop = OUT_OF_RANGE
            break
        if is_ordered and int64(data, at) <= last:
            stop = OUT_OF_ORDER
            break
        timestamp = int64(data, at + MAX_TIMESTAMP_AT)
        if timestamp > largest:
            largest, offset_of_largest = timestamp, last_of_batch
        if at - indexed > interval:
            index_offset[index_rows] = last_of_batch
            index_position[index_rows] = at
            time_timestamp[index_rows] = largest
            time_offset[index_rows] = offset_of_largest
            index_rows += 1
            indexed = at
        epoch_of_batch = int32(data, at + LEADER_EPOCH_AT)
        if epoch_of_batch != epoch:
            if batches > 0:
                epochs[epoch_rows], epoch_offsets[epoch_rows] = epoch, first
                epoch_rows += 1
            epochs[epoch_rows], epoch_offsets[epoch_rows] = epoch_of_batch, int64(data, at)
            epoch_rows += 1
            epoch = epoch_of_batch
        if int64(data, at + PRODUCER_ID_AT) != -1:
            producer_positions[producer_rows] = at
            producer_rows += 1
        first, last = int64(data, at), last_of_batch
        batches += 1
        at += whole
    state[POSITION], state[INDEXED], state[LAST_OFFSET] = at, indexed, last
    state[MAX_TIMESTAMP], state[MAX_TIMESTAMP_OFFSET], state[EPOCH] = largest, offset_of_largest, epoch
    state[BASE_OFFSET], state[BATCHES] = first, batches
    state[INDEX_ROWS], state[EPOCH_ROWS], state[PRODUCER_ROWS] = index_rows, epoch_rows, producer_rows
    return stop
