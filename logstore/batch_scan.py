"""Batches of all magics as columns: kernels for magic 2, plain Python for what is older."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from logstore.batch_attributes import NO_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from logstore.batches import MAGIC_POSITION
from logstore.columns import BatchColumns, StopReason
from logstore.errors import LogStoreError
from logstore.message_set import LegacyBatch

CHUNK: Final = 65_536
"""The most batches in one chunk."""


def scan_batches(
    data: memoryview, position: int, *, check_crc: bool, file: str | None = None
) -> Iterator[BatchColumns]:
    """Read batch headers in chunks, from `position` to the end or to the first thing that is no batch."""
    from logstore.kernels.scan import scan  # noqa: PLC0415  numba loads on the first bulk operation

    array = np.frombuffer(data, np.uint8)
    stop = StopReason.MORE
    while stop in {StopReason.MORE, StopReason.LEGACY}:
        if stop is StopReason.MORE:
            columns = scan(array, position, check_crc=check_crc, capacity=CHUNK)
        else:
            columns = _scan_legacy(data, position, check_crc=check_crc, file=file)
        stop, position = columns.stop, columns.next_position
        # A chunk without batches only tells how the walk ends.
        if len(columns) or stop not in {StopReason.MORE, StopReason.LEGACY}:
            yield columns


def _scan_legacy(data: memoryview, position: int, *, check_crc: bool, file: str | None) -> BatchColumns:
    """Read the messages of magic 0 and 1 at `position`, up to a batch of magic 2 or the end of them."""
    rows: list[_Row] = []
    while len(rows) < CHUNK and len(data) - position > MAGIC_POSITION and data[position + MAGIC_POSITION] < 2:
        try:
            batch = LegacyBatch(data, position, file)
        except LogStoreError:
            # At the first message the kernel has seen that it is complete: only its header can be wrong. About any
            # later one it is asked again.
            return _columns(rows, position, StopReason.MORE if rows else StopReason.BAD_HEADER)
        rows.append(_row(batch, check_crc=check_crc))
        position += batch.size
    return _columns(rows, position, StopReason.MORE)


class _Row(NamedTuple):
    """What varies between messages, in the columns' order."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    magic: int
    attributes: int
    timestamp: int
    record_count: int
    crc: int
    crc_valid: bool


def _row(batch: LegacyBatch, *, check_crc: bool) -> _Row:
    try:
        base_offset, record_count = batch.base_offset, batch.record_count
    except LogStoreError:
        # A wrapped set that cannot be read: its first offset is unknown, and `records` tells what is wrong.
        base_offset, record_count = batch.last_offset, 0
    return _Row(
        batch.position,
        batch.size,
        base_offset,
        batch.last_offset,
        batch.magic,
        batch.attributes,
        batch.max_timestamp,
        record_count,
        batch.crc,
        not check_crc or batch.is_valid(),
    )


def _columns(rows: list[_Row], next_position: int, stop: StopReason) -> BatchColumns:
    of = {name: [getattr(row, name) for row in rows] for name in _Row._fields}
    count = len(rows)
    timestamp = np.array(of["timestamp"], np.int64)
    return BatchColumns(
        position=np.array(of["position"], np.int64),
        size=np.array(of["size"], np.int64),
        base_offset=np.array(of["base_offset"], np.int64),
        last_offset=np.array(of["last_offset"], np.int64),
        leader_epoch=np.full(count, NO_LEADER_EPOCH, np.int32),
        magic=np.array(of["magic"], np.int8),
        attributes=np.array(of["attributes"], np.int16),
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=np.full(count, NO_PRODUCER_ID, np.int64),
        producer_epoch=np.full(count, NO_PRODUCER_EPOCH, np.int16),
        base_sequence=np.full(count, NO_SEQUENCE, np.int32),
        record_count=np.array(of["record_count"], np.int32),
        crc=np.array(of["crc"], np.uint32),
        crc_valid=np.array(of["crc_valid"], np.bool_),
        next_position=next_position,
        stop=stop,
    )
