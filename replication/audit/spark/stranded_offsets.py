"""Lets Spark read what groups have committed for partitions that a truncation would shorten."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from replication.audit.examination.copy_examiner import Row
from replication.audit.judgement.consumer_offsets import CONSUMER_OFFSETS, StrandedOffset
from replication.audit.pipeline.committed_rows import COMMITTED, Places, committed_rows, cut_partitions, stranded_rows
from replication.audit.spark.spark_schema import spark_schema


def stranded(examined: DataFrame, judged: Sequence[Row]) -> list[StrandedOffset]:
    """Find the committed offsets that lie beyond a truncation; nothing is read where nothing is truncated.

    `examined` are the rows of whole copies, `judged` those of partitions.
    """
    cut = cut_partitions(judged)
    is_leading = [
        (f.col("partition") == row["partition"]) & (f.col("replica") == row["recommended"])
        for row in judged
        if row["topic"] == CONSUMER_OFFSETS and row["recommended"] is not None
    ]
    if not cut or not is_leading:
        return []
    copies = examined.where(f.col("topic") == CONSUMER_OFFSETS).where(reduce(or_, is_leading))
    read = copies.select("copy", "summary", "digests").repartition(len(is_leading))
    rows = read.mapInArrow(_reading(frozenset(cut)), spark_schema(COMMITTED)).collect()
    return stranded_rows(cut, (row.asDict() for row in rows))


def _reading(places: Places) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in (row for batch in batches for row in batch.to_pylist()):
            yield pa.RecordBatch.from_pylist(committed_rows(row, places), schema=pa.schema(COMMITTED))

    return read
