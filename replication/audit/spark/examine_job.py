"""Lets Spark examine copies: each of its tasks is one planned task, wherever that runs."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from replication.audit.examination.copy_examiner import Examiner
from replication.audit.snapshots.work import Task, packed, unpacked
from replication.audit.spark.tables import EXAMINED, spark_schema

ROWS_AT_ONCE: Final = 32
"""Examinations in one record batch: some hundred kB, unless copies are damaged in thousands of places."""
Numbers = Iterator[pa.RecordBatch]
"""Which of the planned tasks are to be done, in the column `id`."""
Examine = Callable[[Numbers], Iterator[pa.RecordBatch]]
"""What Spark applies in each of its tasks: gives one row a copy, as `tables.EXAMINED` has it."""


def examination(spark: SparkSession, tasks: Sequence[Task], *, records: bool) -> DataFrame:
    """Return the rows of all examinations, made anew whatever was examined before in this session."""
    # The plan travels with the function: a data source would be asked for it in two more Python processes.
    numbers = spark.range(0, len(tasks), 1, len(tasks))
    # Spark takes what is kept of one query for the result of another with an equal plan, and forgets both together.
    marked = numbers.withColumn("examination", f.lit(uuid4().hex))
    return marked.mapInArrow(examining(list(map(packed, tasks)), records=records), spark_schema(EXAMINED))


def examining(tasks: Sequence[bytes], *, records: bool) -> Examine:
    """Return what examines one copy after the other, of the packed tasks whose numbers it is given."""

    def examine(numbers: Numbers) -> Iterator[pa.RecordBatch]:
        schema = pa.schema(EXAMINED)
        examiner = Examiner(records=records)
        for batch in numbers:
            for number in batch.column("id").to_pylist():
                jobs = iter(unpacked(tasks[number]))
                while rows := [examiner.row(job) for job in islice(jobs, ROWS_AT_ONCE)]:
                    yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return examine
