"""A Spark job that examines copies: each of its tasks is one planned task, wherever that runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.pipeline.audit_plan import NewExaminer
from replication.copies.audit.snapshots.work import Task, packed, unpacked
from replication.copies.audit.spark.spark_schema import spark_schema
from replication.copies.audit.spark.worker_modules import keep_modules
from replication.copies.audit.tables import EXAMINED

Numbers = Iterator[pa.RecordBatch]
"""Which of the planned tasks are to be done, in the column `id`."""
Examine = Callable[[Numbers], Iterator[pa.RecordBatch]]
"""What Spark applies in each of its tasks: gives one row a copy, as `tables.EXAMINED` has it."""

BATCH_BYTES: Final = 256 << 10
"""From about so many on the rows that are ready are given away."""
SMALLEST_ROW: Final = 2 << 10
"""What a row has at least, in bytes."""
A_ROW: Final = 256
"""Bytes of a finding, a segment, or an epoch."""


def examination(spark: SparkSession, tasks: Sequence[Task], new_examiner: NewExaminer) -> DataFrame:
    """Return the rows of all examinations, made anew whatever was examined before in this session."""
    # The plan travels with the function: a data source would be asked for it in two more Python processes.
    numbers = spark.range(0, len(tasks), 1, len(tasks))
    # Spark takes what is kept of one query for the result of another with an equal plan, and forgets both together.
    marked = numbers.withColumn("examination", f.lit(uuid4().hex))
    return marked.mapInArrow(examining(list(map(packed, tasks)), new_examiner), spark_schema(EXAMINED))


def examining(tasks: Sequence[bytes], new_examiner: NewExaminer) -> Examine:
    """Return what examines one copy after the other, of the packed tasks whose numbers it is given."""

    def examine(numbers: Numbers) -> Iterator[pa.RecordBatch]:
        chosen = (number for batch in numbers for number in batch.column("id").to_pylist())
        jobs = tuple(job for number in chosen for job in unpacked(tasks[number]))
        yield from _batches(new_examiner().rows(jobs))
        keep_modules()

    return examine


def _batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Put rows together, as many as are small: making a batch costs more than a row in it."""
    schema = pa.schema(EXAMINED)
    waiting: list[Row] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += _weight(row)
        if size >= BATCH_BYTES:
            yield pa.RecordBatch.from_pylist(waiting, schema=schema)
            waiting, size = [], 0
    if waiting:
        yield pa.RecordBatch.from_pylist(waiting, schema=schema)


def _weight(row: Row) -> int:
    """Estimate the bytes of a row by what may make it large."""
    lists = sum(len(row.get(name) or ()) for name in ("findings", "segments", "epochs"))
    return SMALLEST_ROW + sum(len(row.get(name) or b"") for name in ("summary", "digests", "piece")) + lists * A_ROW
