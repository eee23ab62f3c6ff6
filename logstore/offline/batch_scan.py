"""Batches of all magics as columns: kernels for magic 2, plain Python for what is older and for small logs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final, NamedTuple

import numpy as np

from logstore.batch.any_batch import Batch
from logstore.batch.batches import read_batches
from logstore.batch.columns import BatchColumns, StopReason
from logstore.errors import LogStoreError

CHUNK: Final = 65_536
"""The most batches in one chunk."""

SMALL: Final = 2 << 20
"""Bytes of a log that plain Python reads, as long as it may."""


@dataclass(slots=True)
class PlainBudget:
    """Bounds what is read in plain Python by the cost of loading numba, which a command on a few logs need not pay."""

    batches_left: int = 10_000
    """At some ten microseconds each; below 0 where several threads have taken the last ones."""

    @property
    def is_spent(self) -> bool:
        """Whether kernels are used from now on."""
        return self.batches_left <= 0


PLAIN_BUDGET: Final = PlainBudget()
"""What is left to this process."""


def scan_batches(
    data: memoryview, position: int, *, check_crc: bool, file: str | None = None, threads: int = 1
) -> Iterator[BatchColumns]:
    """Read batch headers in chunks, from `position` to the end or to the first thing that is no batch.

    Two `threads` read a large log, where there are cores for both.
    """
    plain = not PLAIN_BUDGET.is_spent and len(data) - position <= SMALL
    stop = StopReason.MORE
    while stop in {StopReason.MORE, StopReason.LEGACY}:
        batches = read_batches(data, position, file)
        if stop is StopReason.LEGACY:
            older = takewhile(lambda batch: batch.magic < 2, islice(batches, CHUNK))
            columns = _read(older, position, len(data), check_crc=check_crc)
            if not len(columns):
                # The kernel has seen that the message is complete: only its header can be wrong.
                columns = _columns([], position, StopReason.BAD_HEADER)
            chunks = iter([columns])
        elif plain:
            columns = _read(
                islice(batches, max(0, min(CHUNK, PLAIN_BUDGET.batches_left))), position, len(data), check_crc=check_crc
            )
            PLAIN_BUDGET.batches_left -= len(columns)
            # What cannot be read, or not in plain Python any more, is the kernel's to judge.
            plain = len(columns) > 0
            chunks = iter([columns])
        else:
            chunks = _scan(data, position, check_crc=check_crc, threads=threads)
        for columns in chunks:
            stop, position = columns.stop, columns.next_position
            # A chunk without batches only tells how the walk ends.
            if len(columns) or stop not in {StopReason.MORE, StopReason.LEGACY}:
                yield columns


def _scan(data: memoryview, position: int, *, check_crc: bool, threads: int) -> Iterator[BatchColumns]:
    """Read batches of magic 2, as many as there are."""
    from logstore.kernels.mapped_batches import MappedBatches  # noqa: PLC0415  as above
    from logstore.offline.halved_scan import scan_source  # noqa: PLC0415  numba loads on the first bulk operation

    PLAIN_BUDGET.batches_left = 0  # nothing is left to save
    return scan_source(MappedBatches(np.frombuffer(data, np.uint8), check_crc=check_crc), position, threads=threads)


def _read(batches: Iterable[Batch], position: int, end: int, *, check_crc: bool) -> BatchColumns:
    """Read the batches from `position` on, up to the first that cannot be read or the last of them."""
    rows: list[_Row] = []
    try:
        for batch in batches:
            rows.append(_row(batch, check_crc=check_crc))
            position += batch.size
    except LogStoreError:
        return _columns(rows, position, StopReason.MORE)
    return _columns(rows, position, StopReason.END if position == end else StopReason.MORE)


class _Row(NamedTuple):
    """One batch, its fields in the columns' order."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    magic: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    crc: int
    crc_valid: bool


def _row(batch: Batch, *, check_crc: bool) -> _Row:
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
        batch.leader_epoch,
        batch.magic,
        batch.attributes,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        record_count,
        batch.crc,
        not check_crc or batch.is_valid(),
    )


def _columns(rows: list[_Row], next_position: int, stop: StopReason) -> BatchColumns:
    of = {name: [getattr(row, name) for row in rows] for name in _Row._fields}
    return BatchColumns(
        position=np.array(of["position"], np.int64),
        size=np.array(of["size"], np.int64),
        base_offset=np.array(of["base_offset"], np.int64),
        last_offset=np.array(of["last_offset"], np.int64),
        leader_epoch=np.array(of["leader_epoch"], np.int32),
        magic=np.array(of["magic"], np.int8),
        attributes=np.array(of["attributes"], np.int16),
        base_timestamp=np.array(of["base_timestamp"], np.int64),
        max_timestamp=np.array(of["max_timestamp"], np.int64),
        producer_id=np.array(of["producer_id"], np.int64),
        producer_epoch=np.array(of["producer_epoch"], np.int16),
        base_sequence=np.array(of["base_sequence"], np.int32),
        record_count=np.array(of["record_count"], np.int32),
        crc=np.array(of["crc"], np.uint32),
        crc_valid=np.array(of["crc_valid"], np.bool_),
        next_position=next_position,
        stop=stop,
    )
