"""The tables of an audit as files: the same directories and rows as an audit with Spark writes."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from replication.copies.audit.local.local_audit import LocalAudit
from replication.copies.audit.pipeline.json_value import json_value
from replication.copies.audit.tables import BATCHES, RUN

TABLES: Final = ("partitions", "pairs", "forks", "branches", "findings", "segments", "epochs", "batches")
_FILE: Final = "part-00000"


def write_tables(audited: LocalAudit, directory: Path) -> None:
    """Write all tables, as Parquet and as JSON lines; of running brokers none that reads them again. Raises OSError."""
    for name in TABLES if audited.live is None else TABLES[:-1]:
        rows, schema = _rows(audited, name)
        parquet, lines = directory / "parquet" / name, directory / "json" / name
        parquet.mkdir(parents=True)
        lines.mkdir(parents=True)
        with (
            pq.ParquetWriter(parquet / f"{_FILE}.parquet", schema, compression="zstd") as table,
            open(lines / f"{_FILE}.json", "w", encoding="utf-8") as file,
        ):
            for some in rows:
                table.write_batch(some)
                file.writelines(_lines(some))


def _rows(audited: LocalAudit, name: str) -> tuple[Iterable[pa.RecordBatch], pa.Schema]:
    """Give the rows of a table: those of `batches`, of which there are many, some at a time."""
    if name == "batches":
        return audited.batch_rows(), pa.schema({**BATCHES, **RUN})
    table = audited.all_findings if name == "findings" else getattr(audited, name)
    return table.to_batches(), table.schema


def _lines(rows: pa.RecordBatch) -> Iterator[str]:
    for row in rows.to_pylist():
        values = {field.name: json_value(row[field.name], field.type) for field in rows.schema}
        yield f"{json.dumps(values, ensure_ascii=False)}\n"
