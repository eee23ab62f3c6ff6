"""The records of a copy as rows of digests: enough to see whether copies hold the same, in little memory."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.batches import read_batch
from logstore.batch.columns import RecordColumns
from logstore.batch.control import ControlRecord, ControlType
from logstore.errors import LogStoreError
from logstore.verify import Finding
from logstore.verify.log_pass import Chunk, SilentCheck

ROW: Final = np.dtype(
    [
        ("key", np.uint64),
        ("second_key", np.uint64),
        ("content", np.uint64),
        ("offset", np.int64),
        ("has_key", np.bool_),
        ("is_tombstone", np.bool_),
        ("leader_epoch", np.int32),
        ("segment", np.int32),
        ("position", np.int64),
    ]
)
"""One record; the last three are its batch's.

A record counts as one without a key where its transaction was aborted, or has not ended as far as is known.
"""


class Marker(NamedTuple):
    """The end of a transaction."""

    producer_id: int
    offset: int
    aborts: bool


Records = NDArray[np.void]
Rows = NDArray[np.int64]

_UNKNOWN: Final = 0
_COMMITTED: Final = 1
_ABORTED: Final = 2
"""What became of a transaction."""


class RecordTable(SilentCheck):
    """Collects the records from offset `first` on and below `until` whose keys fall into one of several shares.

    Batches whose checksum does not match, or whose records cannot be read, are passed over, and so are control batches.
    """

    def __init__(self, first: int, until: int, numbers: dict[str, int], *, share: int = 0, shares: int = 1) -> None:
        """Create a table; `numbers` has the number of each segment by its file's name."""
        self._first, self._until = first, until
        self._numbers = numbers
        self._share, self._shares = share, shares
        self._parts: list[Records] = []
        self._transactional: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
        self.markers: list[Marker] = []
        """The ends of transactions that this copy has, `until` or not."""

    def records(self, markers: Sequence[Marker] = ()) -> Records:
        """Return what was collected, by offset; `markers` are what other copies know of ends of transactions."""
        records = np.concatenate(self._parts) if self._parts else np.empty(0, ROW)
        records = records[np.argsort(records["offset"], kind="stable")]
        for base_offset, last_offset in self._not_committed(markers):
            start, end = np.searchsorted(records["offset"], [base_offset, last_offset + 1])
            records["has_key"][start:end] = False
        return records

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        from logstore.offline.columns.decoded_records import (  # noqa: PLC0415  numba loads on first bulk use
            Unreadable,
            decoded_records,
        )

        columns = chunk.columns
        control = columns.attributes & CONTROL_BIT != 0
        wanted = columns.crc_valid & (columns.last_offset >= self._first)
        self._follow_transactions(chunk, np.flatnonzero(wanted & (columns.attributes & TRANSACTIONAL_BIT != 0)))
        rows = np.flatnonzero(wanted & ~control & (columns.base_offset < self._until))
        for records in decoded_records(chunk.log.data, columns, rows) if len(rows) else ():
            if not isinstance(records, Unreadable):
                self._parts.append(self._chosen(self._digested(chunk, records)))
        yield from ()

    def _chosen(self, records: Records) -> Records:
        kept = (records["offset"] >= self._first) & (records["offset"] < self._until)
        if self._shares > 1:
            kept &= records["key"] % np.uint64(self._shares) == self._share
        return records[kept]

    def _digested(self, chunk: Chunk, records: RecordColumns) -> Records:
        from logstore.kernels.digest import digest_contents, digest_keys  # noqa: PLC0415  as above

        table = np.empty(len(records), ROW)
        table["key"], table["second_key"] = digest_keys(records)
        table["content"] = digest_contents(records)
        table["offset"] = records.offset
        table["has_key"] = records.key_length >= 0
        table["is_tombstone"] = records.value_length < 0
        table["leader_epoch"] = chunk.columns.leader_epoch[records.batch]
        table["segment"] = self._numbers[chunk.segment.log_path.name]
        table["position"] = chunk.columns.position[records.batch]
        return table

    def _follow_transactions(self, chunk: Chunk, rows: Rows) -> None:
        columns = chunk.columns
        control = columns.attributes[rows] & CONTROL_BIT != 0
        data = rows[~control]
        self._transactional.append((columns.producer_id[data], columns.base_offset[data], columns.last_offset[data]))
        for row in rows[control]:
            batch = read_batch(chunk.log.data, int(columns.position[row]))
            try:
                marker = ControlRecord.of(next(batch.records()))
            except (LogStoreError, StopIteration):
                continue
            offset = int(columns.base_offset[row])
            self.markers.append(Marker(int(columns.producer_id[row]), offset, marker.type is ControlType.ABORT))

    def _not_committed(self, others: Sequence[Marker]) -> Iterator[tuple[int, int]]:
        """Yield the offsets of each batch whose producer's next marker aborts, or is nowhere yet.

        What this copy has of markers counts before what the others have: they may have another history behind it.
        """
        if not self._transactional:
            return
        producers, bases, lasts = (np.concatenate(columns) for columns in zip(*self._transactional, strict=True))
        known = _by_producer(self.markers), _by_producer(others)
        order = np.argsort(producers, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(producers[order])) + 1):
            producer = int(producers[rows[0]]) if len(rows) else -1
            here, there = (_fates(of_copy.get(producer, ()), lasts[rows]) for of_copy in known)
            for row in rows[np.where(here == _UNKNOWN, there, here) != _COMMITTED]:
                yield int(bases[row]), int(lasts[row])


def _fates(ends: Sequence[tuple[int, bool]], lasts: Rows) -> NDArray[np.int8]:
    """Return what became of batches that end with these offsets, by the ends of their producer's transactions."""
    offsets = np.array([offset for offset, _ in ends], np.int64)
    fates = np.array([*(_ABORTED if aborts else _COMMITTED for _, aborts in ends), _UNKNOWN], np.int8)
    found: NDArray[np.int8] = fates[np.searchsorted(offsets, lasts)]
    return found


def _by_producer(markers: Sequence[Marker]) -> dict[int, list[tuple[int, bool]]]:
    by_producer: dict[int, list[tuple[int, bool]]] = {}
    for producer, offset, aborts in sorted(markers):
        by_producer.setdefault(producer, []).append((offset, aborts))
    return by_producer
