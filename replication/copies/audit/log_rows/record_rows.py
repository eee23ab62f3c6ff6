"""Records as Arrow's record batches, of those columns alone that are asked for."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from logstore.batch.batch_attributes import (
    CONTROL_BIT,
    LAST_SEQUENCE,
    NO_SEQUENCE,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    TimestampType,
)
from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.kernels.gather import gather, gather_headers
from logstore.offline.columns.arrow_arrays import binaries, booleans, lists, texts
from logstore.offline.columns.parts import parts_of
from replication.copies.audit.log_rows.arrow_arrays import Constants, flags_of, timestamps
from replication.copies.audit.log_rows.transaction_outcomes import ABORTED, UNDECIDED
from replication.copies.audit.tables import RECORDS

BYTES_GIVEN: Final = 1 << 20
"""In one record batch, about: Java reads it row by row from all columns, which a core's cache should hold."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Records that become rows, with the batches that they are in."""

    records: RecordColumns
    columns: BatchColumns
    outcome: NDArray[np.int8]
    """By batch: see `TransactionOutcomes.of`."""
    batches: NDArray[np.int64]
    """Each batch once, in the order of the records."""
    counts: NDArray[np.int64]
    """How many of the records are in each."""

    @classmethod
    def of(cls, records: RecordColumns, columns: BatchColumns, outcome: NDArray[np.int8]) -> Self:
        """Find out which records are in which batch."""
        batch = records.batch
        firsts = np.concatenate(([0], np.flatnonzero(batch[1:] != batch[:-1]) + 1))
        return cls(records, columns, outcome, batch[firsts], np.diff(firsts, append=len(batch)))

    def of_batches(self, values: Any) -> Any:
        """Give each record its batch's value."""
        return np.repeat(values[self.batches], self.counts)


def record_rows(
    records: RecordColumns, columns: BatchColumns, outcome: NDArray[np.int8], constants: Constants, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Give records as rows, in record batches of bounded size; `columns` and `outcome` are by batch."""
    for first, last in parts_of(records):
        rows = Rows.of(records.slice(first, last), columns, outcome)
        made = pa.RecordBatch.from_arrays([_array(field, rows, constants) for field in schema], schema=schema)
        pieces = -(-max(made.nbytes, 1) // BYTES_GIVEN)
        count = -(-made.num_rows // pieces)
        yield from (made.slice(start, count) for start in range(0, made.num_rows, count))


def keys_of(records: RecordColumns) -> pa.Array:
    """Copy the keys, null where there is none."""
    return binaries(gather(records.data, records.key_start, records.key_length), records.key_length >= 0)


def _values_of(records: RecordColumns) -> pa.Array:
    return binaries(gather(records.data, records.value_start, records.value_length), records.value_length >= 0)


def _array(field: pa.Field, rows: Rows, constants: Constants) -> pa.Array:
    if field.name in constants:
        return constants.repeated(field, len(rows.records))
    values = _COLUMNS[field.name](rows)
    return values if isinstance(values, pa.Array) else pa.array(values, field.type)


def _headers(rows: Rows) -> pa.Array:
    """Give the headers; null where there are none, as Spark's own source of Kafka does."""
    records = rows.records
    if not records.header_count.any():
        return pa.nulls(len(records), RECORDS["headers"])
    found = gather_headers(records.data, records.headers_start, records.header_count)
    fields = {"key": texts(found.keys), "value": binaries(found.values, found.is_there)}
    return lists(fields, records.header_count)


def _timestamp_types(rows: Rows) -> Any:
    columns = rows.columns
    kinds = np.where(
        columns.attributes & TIMESTAMP_TYPE_BIT != 0, TimestampType.LOG_APPEND_TIME, TimestampType.CREATE_TIME
    )
    return rows.of_batches(np.where(columns.magic > 0, kinds, TimestampType.NONE).astype(np.int32))


def _sequences(rows: Rows) -> Any:
    base = rows.columns.base_sequence.astype(np.int64)
    if (base[rows.batches] < 0).all():
        return np.full(len(rows.records), NO_SEQUENCE, np.int32)
    sequence = rows.of_batches(base - rows.columns.base_offset) + rows.records.offset & LAST_SEQUENCE
    return np.where(rows.of_batches(base) < 0, NO_SEQUENCE, sequence).astype(np.int32)


def _are_aborted(rows: Rows) -> pa.Array:
    """Return for each record whether its transaction was aborted; null where that is not decided."""
    outcome = rows.of_batches(rows.outcome)
    is_undecided = outcome == UNDECIDED
    return pa.array(outcome == ABORTED, mask=is_undecided) if is_undecided.any() else booleans(outcome == ABORTED)


def _flag(bit: int) -> Callable[[Rows], pa.Array]:
    return lambda rows: booleans(rows.of_batches(flags_of(rows.columns, bit)))


def _of_batch(name: str) -> Callable[[Rows], Any]:
    return lambda rows: rows.of_batches(getattr(rows.columns, name))


_BY_RECORD: Final[Mapping[str, Callable[[Rows], Any]]] = {
    "key": lambda rows: keys_of(rows.records),
    "value": lambda rows: _values_of(rows.records),
    "offset": lambda rows: rows.records.offset,
    "timestamp": lambda rows: timestamps(rows.records.timestamp),
    "timestamp_ms": lambda rows: rows.records.timestamp,
    "headers": _headers,
    "sequence": _sequences,
}
_COLUMNS: Final[Mapping[str, Callable[[Rows], Any]]] = {
    **_BY_RECORD,
    "timestampType": _timestamp_types,
    "leader_epoch": _of_batch("leader_epoch"),
    "producer_id": _of_batch("producer_id"),
    "producer_epoch": _of_batch("producer_epoch"),
    "is_transactional": _flag(TRANSACTIONAL_BIT),
    "is_control": _flag(CONTROL_BIT),
    "is_aborted": _are_aborted,
    "base_offset": _of_batch("base_offset"),
    "position": _of_batch("position"),
    "corrupt": lambda rows: pa.nulls(len(rows.records), pa.string()),
}


def needs_records(names: Iterable[str]) -> bool:
    """Return whether a column is asked for that headers do not have."""
    return any(name in _BY_RECORD for name in names)
