"""A Spark job that reads the copies of Kafka's own topics that should lead."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from replication.copies.audit.coordinators.consumer_offsets import CONSUMER_OFFSETS
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.pipeline.internal_topics import Stranded, TopicReading, stranded, topic_readings
from replication.copies.audit.spark.spark_schema import spark_schema


def stranded_in(examined: DataFrame, judged: Sequence[Row], committed: DataFrame | None) -> Stranded:
    """Find who is left behind; `examined` are the rows of whole copies, `judged` those of partitions."""
    rows = {reading.topic: _rows_of(reading, examined, judged) for reading in topic_readings(judged)}
    if committed is not None:
        rows[CONSUMER_OFFSETS] = [row.asDict() for row in committed.collect()]
    return stranded(judged, rows)


def read_leading(reading: TopicReading, examined: DataFrame, judged: DataFrame) -> DataFrame:
    """Read the copies of a topic that should lead, once rows of it are requested."""
    leading = judged.where("recommended is not null").select(
        "topic", "partition", f.col("recommended").alias("replica")
    )
    copies = examined.where(f.col("topic") == reading.topic).where("summary is not null")
    read = copies.join(f.broadcast(leading), ["topic", "partition", "replica"]).select("copy", "summary", "digests")
    return read.mapInArrow(_reading(reading), spark_schema(reading.columns))


def _rows_of(reading: TopicReading, examined: DataFrame, judged: Sequence[Row]) -> list[Row]:
    is_leading = [
        (f.col("partition") == row["partition"]) & (f.col("replica") == row["recommended"])
        for row in judged
        if row["topic"] == reading.topic and row["recommended"] is not None
    ]
    if not is_leading:
        return []
    copies = examined.where(f.col("topic") == reading.topic).where("summary is not null").where(reduce(or_, is_leading))
    read = copies.select("copy", "summary", "digests").repartition(len(is_leading))
    rows = read.mapInArrow(_reading(reading), spark_schema(reading.columns)).collect()
    return [row.asDict() for row in rows]


def _reading(reading: TopicReading) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in (row for batch in batches for row in batch.to_pylist()):
            yield pa.RecordBatch.from_pylist(reading.read(row), schema=pa.schema(reading.columns))

    return read
