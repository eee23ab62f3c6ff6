"""Batches of the same offsets and leader epoch that differ although all checksums are valid."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from epoch.base.resource_limits import ResourceLimitError
from logstore.batch.batches import read_batch
from logstore.batch.record import Record
from logstore.errors import LogStoreError
from logstore.offline.log_file import LogFile
from replication.copies.audit.comparison.batch_reader import BatchReader
from replication.copies.audit.comparison.batch_rows import Batches
from replication.copies.audit.copy_summary import OffsetRange


@dataclass(frozen=True, slots=True)
class Divergence:
    """Records under the same offsets and of the same leader epoch that are not the same.

    Where only the batches around equal records differ, the offsets are the batches'.
    """

    first_offset: int
    last_offset: int
    leader_epoch: int
    left_file: str
    left_position: int
    """Where the batch with the first offset begins, in bytes."""
    right_file: str
    right_position: int


def find_divergences(left: Batches, right: Batches, readers: tuple[BatchReader, BatchReader]) -> Iterator[Divergence]:
    """Join pairs of unlike batches that follow one another; each is looked into for the records that differ."""
    if not len(left):
        return
    first, last = (
        np.maximum(left["base_offset"], right["base_offset"]),
        np.minimum(left["last_offset"], right["last_offset"]),
    )
    new = (first[1:] > last[:-1] + 1) | (left["leader_epoch"][1:] != left["leader_epoch"][:-1])
    starts = np.concatenate([[0], np.flatnonzero(new) + 1, [len(left)]])
    for start, end in zip(starts[:-1], starts[1:] - 1, strict=True):
        begins = _differing_records(left[start], right[start], readers)
        ends = begins if start == end else _differing_records(left[end], right[end], readers)
        yield Divergence(
            begins.first,
            ends.last,
            int(left["leader_epoch"][start]),
            readers[0].file(int(left["segment"][start])),
            int(left["position"][start]),
            readers[1].file(int(right["segment"][start])),
            int(right["position"][start]),
        )


def _differing_records(left: np.void, right: np.void, readers: tuple[BatchReader, BatchReader]) -> OffsetRange:
    """Return the first and the last offset under which two batches have different records."""
    whole = OffsetRange(
        int(max(left["base_offset"], right["base_offset"])), int(min(left["last_offset"], right["last_offset"]))
    )
    try:
        lefts, rights = _records(readers[0], left), _records(readers[1], right)
        unlike = _unlike(lefts, rights)
        first, last = next(unlike, None), deque(unlike, maxlen=1)
    except ResourceLimitError:
        raise
    except LogStoreError:
        return whole
    return whole if first is None else OffsetRange(first, last[0] if last else first)


def _unlike(lefts: Iterator[Record], rights: Iterator[Record]) -> Iterator[int]:
    """Yield the offsets under which two batches have not the same, one record of each in memory at a time."""
    left, right = next(lefts, None), next(rights, None)
    while left is not None or right is not None:
        offset = min(each.offset for each in (left, right) if each is not None)
        if left != right:
            yield offset
        left, right = (
            next(records, None) if each is not None and each.offset == offset else each
            for each, records in ((left, lefts), (right, rights))
        )


def _records(reader: BatchReader, row: np.void) -> Iterator[Record]:
    file = reader.file(int(row["segment"]))
    with reader.copy.logs([file]) as directory, LogFile.open(directory / file) as log:
        yield from read_batch(log.data, int(row["position"])).records()
