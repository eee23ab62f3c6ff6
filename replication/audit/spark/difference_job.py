"""Lets Spark read again the records on which copies disagree: first it is told where that is, then record by record."""

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame

from replication.audit.comparison.comparison import compare
from replication.audit.comparison.record_differences import (
    DifferenceKind,
    Disagreement,
    HeldRecord,
    disagreements,
    record_differences,
)
from replication.audit.examination.copy_examiner import Row
from replication.audit.pipeline.partition_rows import examined_copy
from replication.audit.spark.spark_schema import spark_schema
from replication.audit.tables import DIFFERENCES, DISAGREEMENTS

ROWS_AT_ONCE: Final = 1_000
"""Differences in one record batch."""
_SIDES: Final = ("left", "right")
_OF_COPY: Final = ("copy", "summary", "digests")
_MICROSECONDS: Final = 1_000
_LIMIT: Final = 2**63


def differences(examined: DataFrame) -> DataFrame:
    """Return one row for each record on which two copies disagree; `examined` are the rows of whole copies."""
    copies = examined.where("topic is not null and summary is not null")
    where = (
        copies.select("topic", "partition", "replica", *_OF_COPY)
        .groupBy("topic", "partition")
        .applyInArrow(_disagreements, spark_schema(DISAGREEMENTS))
    )
    return where.mapInArrow(_differences, spark_schema(DIFFERENCES))


def _disagreements(table: pa.Table) -> pa.Table:
    """Compare all copies of one partition, and give a row for each stretch of offsets on which two disagree."""
    rows = sorted(table.to_pylist(), key=lambda row: row["replica"])
    found = [where for left, right in combinations(rows, 2) for where in _of_pair(left, right)]
    return pa.Table.from_pylist(found, schema=pa.schema(DISAGREEMENTS))


def _of_pair(left: Row, right: Row) -> Iterator[Row]:
    copies = examined_copy(left), examined_copy(right)
    for where in disagreements(compare(*copies), *copies):
        yield {
            "topic": left["topic"],
            "partition": left["partition"],
            **where._asdict(),
            **{
                f"{side}_{name}": row[name]
                for side, row in zip(_SIDES, (left, right), strict=True)
                for name in _OF_COPY
            },
        }


def _differences(tables: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = (each for table in tables for row in table.to_pylist() for each in _of_disagreement(row))
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield pa.RecordBatch.from_pylist(some, schema=pa.schema(DIFFERENCES))


def _of_disagreement(row: Row) -> Iterator[Row]:
    left, right = (examined_copy({name: row[f"{side}_{name}"] for name in _OF_COPY}) for side in _SIDES)
    where = Disagreement(DifferenceKind(row["kind"]), row["first"], row["last"])
    for each in record_differences(where, left, right):
        yield {
            "topic": row["topic"],
            "partition": row["partition"],
            "offset": each.offset,
            "kind": each.kind.value,
            **_of_side("left", left.replica, each.left),
            **_of_side("right", right.replica, each.right),
        }


def _of_side(side: str, replica: str, held: HeldRecord | None) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "leader_epoch": held.leader_epoch if held else None,
        "timestamp": _microseconds(held.record.timestamp) if held else None,
        "key": held.record.key if held else None,
        "value": held.record.value if held else None,
    }
    return {side: replica, **{f"{side}_{name}": value for name, value in fields.items()}}


def _microseconds(milliseconds: int) -> int | None:
    """Give a timestamp as Spark has it; None beyond what it can be."""
    microseconds = milliseconds * _MICROSECONDS
    return microseconds if -_LIMIT <= microseconds < _LIMIT else None
