"""Batches and records of log files as Arrow's record batches."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from logstore.batch.batch_attributes import CODEC_BITS, CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.batches import Batch, read_batch
from logstore.batch.columns import BatchColumns
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.errors import LogStoreError
from logstore.offline.log_file import LogFile
from logstore.verify.log_pass import Scan
from replication.audit.spark.selection import Selection

RECORDS_AT_ONCE: Final = 8_192
BYTES_AT_ONCE: Final = 16 << 20
"""Of keys and values in one record batch, unless one Kafka batch has more."""
_CODECS: Final = pa.array([Codec(code).name.lower() if code in set(Codec) else str(code) for code in range(8)])

Constants = Mapping[str, object]
"""What all rows of a file have in common: its copy and its segment."""


def read_columns(log: LogFile, scan: Scan) -> Iterator[BatchColumns]:
    """Read a log file's batches as `scan` does, over damage to the next valid batch."""
    from logstore.offline.batch_search import BatchSearch  # noqa: PLC0415  numba loads on the first bulk operation

    position = 0
    search: BatchSearch | None = None
    while position >= 0:
        for columns in scan(log, position):
            if len(columns):
                yield columns
            position = columns.next_position
        if position >= log.size:
            return
        search = search or BatchSearch(log)
        position = search.find(position + 1)


def batch_rows(columns: BatchColumns, constants: Constants, schema: pa.Schema) -> pa.RecordBatch:
    """Give batches as rows."""
    count = len(columns)
    return pa.RecordBatch.from_arrays(
        [_batch_array(field, columns, constants, count) for field in schema], schema=schema
    )


def _batch_array(field: pa.Field, columns: BatchColumns, constants: Constants, count: int) -> pa.Array:
    if field.name in constants:
        return pa.repeat(pa.scalar(constants[field.name], field.type), count)
    derive = _DERIVED.get(field.name)
    values = derive(columns) if derive else getattr(columns, field.name)
    return values if isinstance(values, pa.Array) else pa.array(values, field.type)


def _flag(bit: int) -> Callable[[BatchColumns], Any]:
    """Read a flag that only batches of magic 2 have."""
    return lambda columns: (columns.attributes & bit != 0) & (columns.magic == 2)


_DERIVED: Final[dict[str, Callable[[BatchColumns], Any]]] = {
    "codec": lambda columns: _CODECS.take(pa.array(columns.attributes & CODEC_BITS)),
    "is_transactional": _flag(TRANSACTIONAL_BIT),
    "is_control": _flag(CONTROL_BIT),
    "crc": lambda columns: columns.crc.astype(np.int64),
}


@dataclass(slots=True)
class RecordRows:
    """Gives the records of batches as rows, some thousands at once."""

    constants: Constants
    schema: pa.Schema
    selection: Selection

    def read(self, log: LogFile, columns: BatchColumns) -> Iterator[pa.RecordBatch]:
        """Decode batches whose checksums are valid, each up to a record that cannot be."""
        rows: list[dict[str, object]] = []
        size = 0
        for position in columns.position[columns.crc_valid].tolist():
            for row in self._rows(read_batch(log.data, position)):
                rows.append(row)
                size += len(row["key"] or b"") + len(row["value"] or b"")  # type: ignore[arg-type]  # both bytes
            if len(rows) >= RECORDS_AT_ONCE or size >= BYTES_AT_ONCE:
                yield pa.RecordBatch.from_pylist(rows, schema=self.schema)
                rows, size = [], 0
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=self.schema)

    def _rows(self, batch: Batch) -> Iterator[dict[str, object]]:
        shared = {
            **self.constants,
            "leader_epoch": batch.leader_epoch,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "is_transactional": batch.is_transactional,
            "is_control": batch.is_control,
        }
        try:
            shared["base_offset"] = batch.base_offset
            for record in filter(self._is_wanted, batch.records()):
                yield {
                    **shared,
                    "offset": record.offset,
                    "timestamp": record.timestamp,
                    "key": record.key,
                    "value": record.value,
                    "headers": [header._asdict() for header in record.headers],
                }
        except LogStoreError:
            return

    def _is_wanted(self, record: Record) -> bool:
        return self.selection.holds(record.offset)
