"""Lets Spark read the copies of Kafka's own topics that should lead."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from replication.audit.examination.copy_examiner import Row
from replication.audit.pipeline.internal_topics import Stranded, TopicReading, stranded, topic_readings
from replication.audit.spark.spark_schema import spark_schema


def stranded_in(examined: DataFrame, judged: Sequence[Row]) -> Stranded:
    """Find who is left behind; `examined` are the rows of whole copies, `judged` those of partitions."""
    return stranded(judged, {reading.topic: _rows_of(reading, examined, judged) for reading in topic_readings(judged)})


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
