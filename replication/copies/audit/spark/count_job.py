"""How many records logs have, counted in the tasks that read them."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import InputPartition

from replication.base.errors import NotAllowedError
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from replication.copies.audit.spark.sessions.session import send_packages
from replication.copies.audit.spark.source.log_reader import KafkaLogReader

_OURS: Final = {"rows": "records", "columns": "partition"}
"""The column is one that batches' headers tell."""


def count_records(spark: SparkSession, logs: str | Path | Sequence[str | Path], **options: str) -> int:
    """Return how many records logs have: what `count()` of `kafka-log` is with `rows` of `records`.

    `logs` and `options` are what `spark.read.format("kafka-log").options(...).load(logs)` takes, but for `rows` and
    `columns`, and mean the same: with `isolation="read_committed"` what consumers of committed records are given is
    counted. Spark's own count takes each row through Java, which costs more than twice as much. Raises
    UnknownOptionError, NotAllowedError, NoSnapshotError, and what Spark makes of a CorruptBatchError where not all can
    be read.

    >>> count_records(spark, "/backup/broker-1", topics="orders", startingTimestamp="1795000000000")
    """
    given = {name.lower(): value for name, value in options.items()}
    for name in _OURS.keys() & given.keys():
        raise NotAllowedError(f"option {name} of count_records", given[name], "none, as it is about the result's rows")
    paths = [logs] if isinstance(logs, (str, Path)) else logs
    chosen = SourceOptions.of({**given, **_OURS, "paths": json.dumps(list(map(str, paths)))})
    reader = KafkaLogReader(chosen, chosen.columns)
    tasks = reader.partitions()
    send_packages(spark)
    counts = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(_counting(reader, tasks), "records bigint")
    return sum(row["records"] for row in counts.collect())


def _counting(
    reader: KafkaLogReader, tasks: Sequence[InputPartition]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what counts the rows of those tasks whose numbers it is given."""

    def count(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        chosen = [tasks[number] for batch in numbers for number in batch.column("id").to_pylist()]
        records = sum(rows.num_rows for task in chosen for rows in reader.read(task))
        yield pa.RecordBatch.from_pydict({"records": pa.array([records], pa.int64())})

    return count
