"""Salvaged records as a Parquet file."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from replication.copies.salvage.columns.block_sink import BlockSink
from replication.copies.salvage.columns.salvaged_block import SalvagedBlock
from replication.copies.salvage.files.arrow_records import SCHEMA, of_block, of_records
from replication.copies.salvage.salvaged_record import SalvagedRecord

_RECORDS_AT_ONCE: Final = 65_536
_BYTES_AT_ONCE: Final = 64 << 20
"""Of one row group, which is what readers of Parquet take at once."""
_REPEATED: Final = ["topic", "partition", "leader_epoch", "timestamp_type", "producer_id", "producer_epoch", "source"]
"""Columns of few values, which are written once for each row group."""


@contextmanager
def parquet(path: Path) -> Iterator[BlockSink]:
    """Write a new file. Raises OSError."""
    with open(path, "xb") as file:
        with (
            pq.ParquetWriter(file, SCHEMA, compression="zstd", use_dictionary=_REPEATED) as writer,
            ThreadPoolExecutor(1, "parquet") as thread,
        ):
            groups = _RowGroups(writer, thread)
            yield groups
            groups.finish()
        file.flush()
        os.fsync(file.fileno())


class _RowGroups(BlockSink):
    """Records that wait to become a row group; the one before them is written meanwhile, by another thread."""

    def __init__(self, writer: pq.ParquetWriter, thread: ThreadPoolExecutor) -> None:
        self._writer = writer
        self._thread = thread
        self._written: Future[None] | None = None
        self._records: list[SalvagedRecord] = []
        self._batches: list[pa.RecordBatch] = []
        self._count = self._size = 0

    def take(self, block: SalvagedBlock) -> None:
        """Add some thousand records."""
        self._arrange()
        for batch in of_block(block):
            self._batches.append(batch)
            self._add(len(batch), batch.nbytes)

    def __call__(self, record: SalvagedRecord) -> None:
        """Add a record."""
        self._records.append(record)
        self._add(1, len(record.key or b"") + len(record.value or b""))

    def finish(self) -> None:
        """Write what waits, and wait for it."""
        self._write()
        self._await()

    def _write(self) -> None:
        self._arrange()
        self._await()
        if self._batches:
            table = pa.Table.from_batches(self._batches, SCHEMA)
            self._written = self._thread.submit(self._writer.write_table, table, row_group_size=self._count)
        self._batches, self._count, self._size = [], 0, 0

    def _await(self) -> None:
        """Raise what went wrong with the row group before."""
        if self._written is not None:
            self._written.result()
            self._written = None

    def _add(self, count: int, size: int) -> None:
        self._count += count
        self._size += size
        if self._count >= _RECORDS_AT_ONCE or self._size >= _BYTES_AT_ONCE:
            self._write()

    def _arrange(self) -> None:
        """Make columns of the objects that wait."""
        if self._records:
            self._batches.append(of_records(self._records))
            self._records = []
