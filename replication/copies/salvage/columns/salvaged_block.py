"""Salvaged records as columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat, starmap
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import LAST_SEQUENCE, NO_SEQUENCE, TIMESTAMP_TYPE_BIT, TimestampType
from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.batch.record import Header
from logstore.kernels.gather import gather_headers
from logstore.topic_partition import TopicPartition
from replication.copies.salvage.salvaged_record import SalvagedRecord

Scalar = TypeVar("Scalar", np.int8, np.int16, np.int32, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SalvagedBlock:
    """Some thousand records of one partition and one copy, in order."""

    topic_partition: TopicPartition
    source: str
    """The broker whose copy they were found in."""
    records: RecordColumns
    batches: BatchColumns
    """Headers of their batches."""
    transactions: NDArray[np.int64]
    """Where the transaction of each batch begins, -1 without one; a row a batch."""

    def __len__(self) -> int:
        return len(self.records)

    def slice(self, first: int, last: int) -> "SalvagedBlock":
        """Return the records from row `first` to `last`, which is left out, as views."""
        return SalvagedBlock(
            self.topic_partition, self.source, self.records.slice(first, last), self.batches, self.transactions
        )

    def of_batch(self, column: NDArray[Scalar]) -> NDArray[Scalar]:
        """Return a column of `batches` for each record."""
        return column[self.records.batch]

    def timestamp_types(self) -> NDArray[np.int8]:
        """Return the number of each record's TimestampType."""
        bits = (self.batches.attributes & TIMESTAMP_TYPE_BIT).astype(np.bool_)
        return self.of_batch(np.where(self.batches.magic == 0, TimestampType.NONE, bits).astype(np.int8))

    def sequences(self) -> NDArray[np.int32]:
        """Return the sequence number that its producer gave each record; -1 without an idempotent producer."""
        base = self.of_batch(self.batches.base_sequence).astype(np.int64)
        number = (base + self.records.offset - self.of_batch(self.batches.base_offset)) & LAST_SEQUENCE
        return np.where(base == NO_SEQUENCE, NO_SEQUENCE, number).astype(np.int32)

    def objects(self) -> Iterator[SalvagedRecord]:
        """Make an object of each record."""
        rows = zip(
            repeat(self.topic_partition.topic),
            repeat(self.topic_partition.partition),
            self.of_batch(self.batches.leader_epoch).tolist(),
            self.records.offset.tolist(),
            self.records.timestamp.tolist(),
            map(_TIMESTAMP_TYPES.__getitem__, self.timestamp_types().tolist()),
            self.keys(),
            self.values(),
            self.headers(),
            self.of_batch(self.batches.producer_id).tolist(),
            self.of_batch(self.batches.producer_epoch).tolist(),
            self.sequences().tolist(),
            repeat(self.source),
            self.of_batch(self.transactions).tolist(),
            strict=False,
        )
        return map(cast("Any", tuple.__new__), repeat(SalvagedRecord), rows)  # in C, where `_make` is a frame of Python

    def keys(self) -> Iterator[bytes | None]:
        """Yield the key of each record."""
        return _pieces(self.records.data, self.records.key_start, self.records.key_length)

    def values(self) -> Iterator[bytes | None]:
        """Yield the value of each record."""
        return _pieces(self.records.data, self.records.value_start, self.records.value_length)

    def headers(self) -> Iterator[tuple[Header, ...]]:
        """Yield the headers of each record."""
        return headers_of(self.records)


def headers_of(records: RecordColumns) -> Iterator[tuple[Header, ...]]:
    """Yield the headers of each record."""
    counts = records.header_count
    if not counts.any():
        return repeat((), len(counts))
    found = gather_headers(records.data, records.headers_start, counts)
    lengths = np.where(found.is_there, np.diff(found.values.ends), -1)
    keys = _pieces(found.keys.values, found.keys.ends[:-1], np.diff(found.keys.ends))
    values = _pieces(found.values.values, found.values.ends[:-1], lengths)
    texts = ((key or b"").decode(errors="replace") for key in keys)
    headers = starmap(Header, zip(texts, values, strict=True))
    return (tuple(next(headers) for _ in range(count)) for count in counts.tolist())


_TIMESTAMP_TYPES = {int(each): each for each in TimestampType}


def _pieces(data: NDArray[np.uint8], starts: NDArray[Any], lengths: NDArray[Any]) -> Iterator[bytes | None]:
    if not len(starts):
        return iter(())
    first, ends = int(starts.min()), starts + lengths
    content = data[first : int(ends.max())].tobytes()  # of bytes, pieces are cut off in C
    pieces = map(content.__getitem__, map(slice, (starts - first).tolist(), (ends - first).tolist()))
    if (lengths >= 0).all():
        return pieces
    return (None if length < 0 else piece for piece, length in zip(pieces, lengths.tolist(), strict=True))
