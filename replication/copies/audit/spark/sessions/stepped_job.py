"""A Spark job of two steps: tasks give bytes, and what those of a group give goes to one task more."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from replication.copies.audit.spark.sessions.session import send_packages
from replication.copies.audit.spark.worker_modules import keep_modules

First = Callable[[bytes], bytes]
Second = Callable[[int, Sequence[bytes]], bytes]
_ROWS: Final = pa.schema([("group", pa.int64()), ("data", pa.binary())])
_AS_SPARK_HAS_THEM: Final = "group bigint, data binary"
MOST_GROUPS: Final = 200
"""Tasks of the second step, at most."""


def run_in_steps(
    spark: SparkSession, tasks: Iterable[tuple[int, bytes]], first: First, second: Second
) -> Mapping[int, bytes]:
    """Apply `first` to each of the tasks, which are bytes with the number of a group, and `second` to each group.

    Both travel with the job, as do the tasks: what they hold stands in no plan and in no setting of Spark's.
    """
    given = list(tasks)
    if not given:
        return {}
    send_packages(spark)
    groups = min(len({group for group, _ in given}), MOST_GROUPS)
    done = spark.range(0, len(given), 1, len(given)).mapInArrow(_doing(given, first), _AS_SPARK_HAS_THEM)
    joined = done.repartition(groups, "group").groupBy("group").applyInArrow(_joining(second), _AS_SPARK_HAS_THEM)
    return {row["group"]: bytes(row["data"]) for row in joined.collect()}


def _doing(
    tasks: list[tuple[int, bytes]], first: First
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def do(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in numbers for number in batch.column("id").to_pylist()):
            group, data = tasks[number]
            yield pa.RecordBatch.from_pydict({"group": [group], "data": [first(data)]}, schema=_ROWS)
        keep_modules()

    return do


def _joining(second: Second) -> Callable[[pa.Table], pa.Table]:
    def join(rows: pa.Table) -> pa.Table:
        group = rows.column("group")[0].as_py()
        made = second(group, rows.column("data").to_pylist())
        keep_modules()
        return pa.Table.from_pydict({"group": [group], "data": [made]}, schema=_ROWS)

    return join
