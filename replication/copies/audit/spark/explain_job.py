"""What became of the offsets of all partitions, as a table of Spark."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from logstore.topic_partition import TopicPartition
from replication.copies.audit.pipeline.explained_rows import MARK, ExplainedRows
from replication.copies.audit.spark.offsets_table import open_table
from replication.copies.audit.spark.sessions.session import send_packages
from replication.copies.audit.spark.spark_schema import spark_schema
from replication.copies.audit.spark.worker_modules import keep_modules
from replication.copies.audit.tables import EXPLAINED
from replication.copies.explain.sources import Sources

_OFFSETS = "topic string, partition int, offset bigint"
_IS_ASKED = "topic <=> asked_topic and partition <=> asked_partition"


def explain_offsets(
    spark: SparkSession,
    copies: Sequence[str | Path],
    *,
    got: DataFrame | str | Path | None = None,
    partitions: Sequence[TopicPartition] = (),
    leader: str | None = None,
    compacted: Sequence[str] = (),
    committed_only: bool = True,
) -> DataFrame:
    """Return what became of each offset of all partitions that the copies hold, or of these: one row a range.

    `copies` are directories as `replication.explain.explain` takes them, which all executors can read under these
    names. `got` has the columns `topic`, `partition` and `offset`: a DataFrame, the name of a table in one of Spark's
    catalogs, or the path of a table of Delta Lake, Iceberg or Parquet, which a text with a `/` or a Path is. Then only
    what it lacks is explained, and what it has that no consumer was given, with `is_unexpected`; how many of its rows
    lack a topic, a partition or an offset from 0 on says a row with `error`. `leader`, `committed_only` and topics
    that are `compacted` are as there. Each copy of a partition that cannot be read has a row with `error`, and so has a
    partition that cannot be explained. Each partition is the work of one task. Raises what
    `replication.explain.Sources.open` raises.

    >>> missing = explain_offsets(spark, ["/backup/broker-1", "/backup/broker-2"]).where("why = 'missing'")
    """
    send_packages(spark)
    named = [str(Path(each).absolute()) for each in copies]
    asked = partitions or Sources.open([Path(each) for each in named]).partitions
    rows = ExplainedRows(named, leader, frozenset(compacted), committed_only)
    marks = spark.createDataFrame([(*each, MARK) for each in asked], _OFFSETS)
    if got is not None:
        chosen = _whole_or_null(got if isinstance(got, DataFrame) else open_table(spark, got))
        if partitions:
            chosen = chosen.join(_those(spark, partitions), f.expr(_IS_ASKED), "left_semi")
        marks = marks.unionByName(chosen)
    tasks = max(len(asked), 1)
    ordered = marks.repartition(tasks, "topic", "partition").sortWithinPartitions("topic", "partition", "offset")
    return ordered.mapInArrow(_explaining(rows, has_offsets=got is not None), spark_schema(EXPLAINED))


def _whole_or_null(got: DataFrame) -> DataFrame:
    """Leave an offset that is none as null, and all of a row that lacks its topic or partition."""
    topic, partition, offset = (f.col(name).cast(kind) for name, kind in map(str.split, _OFFSETS.split(", ")))
    is_whole = topic.isNotNull() & partition.isNotNull()
    kept = {"topic": is_whole, "partition": is_whole, "offset": is_whole & (offset >= 0)}
    columns = zip(kept.items(), (topic, partition, offset), strict=True)
    return got.select(*(f.when(condition, column).alias(name) for (name, condition), column in columns))


def _those(spark: SparkSession, partitions: Sequence[TopicPartition]) -> DataFrame:
    """Return a table of partitions, and of none: rows without one may be of any of them."""
    return spark.createDataFrame([*partitions, (None, None)], "asked_topic string, asked_partition int")


def _explaining(
    rows: ExplainedRows, *, has_offsets: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def explain(tables: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from rows.batches(tables, has_offsets=has_offsets)
        keep_modules()

    return explain
