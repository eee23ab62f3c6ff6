"""The tables of an audit as files: the same directories and rows as an audit with Spark writes."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from replication.audit.local.local_audit import LocalAudit

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
            yield f"{json.dumps(row, default=_as_text, ensure_ascii=False)}\n"


def _as_text(value: Any) -> str:
    """Write a time as Spark does."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(f"{value!r} is in no table")
