"""Salvaged records as a Parquet file."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from replication.salvage.salvaged_record import SalvagedRecord

SCHEMA: Final = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "leader_epoch": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("ms", tz="UTC"),
        "timestamp_type": pa.int8(),
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
        "producer_id": pa.int64(),
        "producer_epoch": pa.int16(),
        "sequence": pa.int32(),
        "source": pa.string(),
    }
)
"""The members of SalvagedRecord, in their order; headers are an empty list where a record has none."""
_RECORDS_AT_ONCE: Final = 65_536
_BYTES_AT_ONCE: Final = 64 << 20
"""Of one row group, which is what readers of Parquet take at once."""


@contextmanager
def parquet(path: Path) -> Iterator[Callable[[SalvagedRecord], object]]:
    """Write a new file. Raises OSError."""
    with open(path, "xb") as file:
        with pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
            groups = _RowGroups(writer)
            yield groups.add
            groups.write()
        file.flush()
        os.fsync(file.fileno())


class _RowGroups:
    """Records that wait to become a row group."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._records: list[SalvagedRecord] = []
        self._size = 0

    def add(self, record: SalvagedRecord) -> None:
        """Take a record."""
        self._records.append(record)
        self._size += len(record.key or b"") + len(record.value or b"")
        if len(self._records) >= _RECORDS_AT_ONCE or self._size >= _BYTES_AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write what waits."""
        if not self._records:
            return
        columns = dict(zip(SalvagedRecord._fields, zip(*self._records, strict=True), strict=True))
        columns["headers"] = tuple([header._asdict() for header in headers] for headers in columns["headers"])
        columns["timestamp_type"] = tuple(map(int, columns["timestamp_type"]))
        arrays = [pa.array(columns[each.name], each.type) for each in SCHEMA]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA), row_group_size=len(self._records))
        self._records, self._size = [], 0
