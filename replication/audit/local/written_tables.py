"""The tables of an audit as files: the same directories and rows as an audit with Spark writes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from replication.audit.local.local_audit import LocalAudit
from replication.audit.pipeline.json_value import json_value

TABLES: Final = ("partitions", "pairs", "forks", "branches", "findings", "segments", "epochs")
_FILE: Final = "part-00000"


def write_tables(audited: LocalAudit, directory: Path) -> None:
    """Write all tables, as Parquet and as JSON lines. Raises OSError."""
    for name in TABLES:
        table = audited.all_findings if name == "findings" else getattr(audited, name)
        parquet, lines = directory / "parquet" / name, directory / "json" / name
        parquet.mkdir(parents=True)
        pq.write_table(table, parquet / f"{_FILE}.parquet", compression="zstd")
        lines.mkdir(parents=True)
        with open(lines / f"{_FILE}.json", "w", encoding="utf-8") as file:
            file.writelines(_lines(table))


def _lines(table: pa.Table) -> Iterator[str]:
    for batch in table.to_batches():
        for row in batch.to_pylist():
            values = {field.name: json_value(row[field.name], field.type) for field in table.schema}
            yield f"{json.dumps(values, ensure_ascii=False)}\n"
