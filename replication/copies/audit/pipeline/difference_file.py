"""The differences between copies as a file: Parquet where its name says so, else a JSON object a line."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from replication.base.new_target import replaced_target
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.pipeline.json_value import json_value
from replication.copies.audit.tables import DIFFERENCES, RUN, Columns

COLUMNS: Final[Columns] = {**DIFFERENCES, **RUN}
PARQUET: Final = ".parquet"
_ROWS_AT_ONCE: Final = 1_000


def write_differences(rows: Iterable[Row], file: Path) -> int:
    """Write rows, whose times are microseconds since 1970 UTC, some at a time; return how many.

    The file has its name once it is whole. Raises OSError.
    """
    with replaced_target(file) as part:
        return _write_parquet(rows, part) if file.suffix == PARQUET else _write_lines(rows, part)


def _write_parquet(rows: Iterable[Row], file: Path) -> int:
    schema, count = pa.schema(COLUMNS), 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for some in _some(rows):
            writer.write_batch(pa.RecordBatch.from_pylist(some, schema=schema))
            count += len(some)
    return count


def _write_lines(rows: Iterable[Row], file: Path) -> int:
    count = 0
    with open(file, "w", encoding="utf-8") as lines:
        for row in rows:
            lines.write(f"{json.dumps({name: json_value(row[name], kind) for name, kind in COLUMNS.items()})}\n")
            count += 1
    return count


def _some(rows: Iterable[Row]) -> Iterator[list[Row]]:
    iterator = iter(rows)
    while some := list(islice(iterator, _ROWS_AT_ONCE)):
        yield some
