"""The recovery pass in plain Python: what the kernel `recover` does, as long as it is not there."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from epoch.history import MAX_OFFSET
from logstore.batch.batch_attributes import NO_PRODUCER_ID
from logstore.batch.columns import StopReason
from logstore.batch.layout import (
    CRC_START,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    SMALLEST_LENGTH,
    SMALLEST_MESSAGE,
    header_of,
)
from logstore.checksum import crc32c
from logstore.files.index_slots import MAX_RELATIVE_OFFSET
from logstore.kernels.recovery_state import RecoveryColumns, Slot

_PREFIX: Final = MAGIC_AT + 1
_SHORTEST_LEGACY: Final = SMALLEST_MESSAGE - LOG_OVERHEAD
"""As a length field has it."""
_unpack: Final = header_of(
    "base_offset",
    "length",
    "leader_epoch",
    "magic",
    "crc",
    "last_offset_delta",
    "max_timestamp",
    "producer_id",
    "record_count",
).unpack_from


def recover_plainly(
    data: memoryview, end: int, *, base_offset: int, interval: int, state: NDArray[np.int64], columns: RecoveryColumns
) -> int:
    """Go on with a pass as the kernel does, over the bytes that `data` views; return a stop reason."""
    at, indexed, last, largest, offset_of_largest, epoch, first, batches, *_, is_ordered = state.tolist()
    entries: list[tuple[int, int, int, int]] = []
    epochs: list[tuple[int, int]] = []
    producers: list[int] = []
    rows = min(len(columns.index_offset), len(columns.epoch), len(columns.producer_position))
    crc_view = data.toreadonly()
    while True:
        stop = _other_than_batch(data, at, end)
        if stop is not None:
            break
        first_of_batch, length, its_epoch, _, crc, delta, timestamp, producer_id, count = _unpack(data, at)
        if first_of_batch < 0 or not 0 <= delta <= MAX_OFFSET - first_of_batch or count < 0:
            stop = StopReason.BAD_HEADER
            break
        if len(entries) == rows or len(epochs) + 2 > rows or len(producers) == rows:
            stop = StopReason.MORE
            break
        following = at + LOG_OVERHEAD + length
        if crc32c(crc_view[at + CRC_START : following]) != crc:
            stop = StopReason.BAD_CRC
            break
        last_of_batch = first_of_batch + delta
        if not 0 <= last_of_batch - base_offset <= MAX_RELATIVE_OFFSET:
            stop = StopReason.OUT_OF_RANGE
            break
        if is_ordered and first_of_batch <= last:
            stop = StopReason.OUT_OF_ORDER
            break
        if timestamp > largest:
            largest, offset_of_largest = timestamp, last_of_batch
        if at - indexed > interval:
            entries.append((last_of_batch, at, largest, offset_of_largest))
            indexed = at
        if its_epoch != epoch:
            if batches:
                epochs.append((epoch, first))
            epochs.append((its_epoch, first_of_batch))
            epoch = its_epoch
        if producer_id != NO_PRODUCER_ID:
            producers.append(at)
        first, last = first_of_batch, last_of_batch
        batches += 1
        at = following
    _fill((columns.index_offset, columns.index_position, columns.time_timestamp, columns.time_offset), entries)
    _fill((columns.epoch, columns.epoch_offset), epochs)
    columns.producer_position[: len(producers)] = producers
    state[: Slot.INDEX_ROWS] = at, indexed, last, largest, offset_of_largest, epoch, first, batches
    state[Slot.INDEX_ROWS : Slot.IS_ORDERED] = len(entries), len(epochs), len(producers)
    return int(stop)


def _other_than_batch(data: memoryview, at: int, end: int) -> StopReason | None:
    """Return why the pass stops here; None where a whole batch of magic 2 follows, whatever its header says."""
    left = end - at
    if left < _PREFIX:
        return StopReason.TORN if left else StopReason.END
    length, magic = int.from_bytes(data[at + LENGTH_AT : at + LENGTH_AT + 4], signed=True), data[at + MAGIC_AT]
    if magic > MAGIC:
        return StopReason.BAD_MAGIC
    if length < (SMALLEST_LENGTH if magic == MAGIC else _SHORTEST_LEGACY):
        return StopReason.BAD_LENGTH
    if length > left - LOG_OVERHEAD:
        return StopReason.TORN
    return None if magic == MAGIC else StopReason.LEGACY


def _fill(columns: tuple[NDArray[np.int64], ...], rows: Sequence[tuple[int, ...]]) -> None:
    for column, values in zip(columns, zip(*rows, strict=True), strict=True) if rows else ():
        column[: len(values)] = values
