"""A Spark job that reads again the records on which copies disagree."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame

from logstore.text.record_mask import RecordMask
from replication.copies.audit.pipeline.difference_rows import OF_COPY, difference_rows, disagreement_rows
from replication.copies.audit.spark.source.brief_errors import OURS
from replication.copies.audit.spark.spark_schema import spark_schema
from replication.copies.audit.tables import DIFFERENCES, DISAGREEMENTS

ROWS_AT_ONCE: Final = 1_000
"""Differences in one record batch."""


def differences(examined: DataFrame, mask: RecordMask | None = None) -> DataFrame:
    """Return one row for each record on which two copies disagree; `examined` are the rows of whole copies.

    Contents are given as the mask leaves them.
    """
    copies = examined.where("topic is not null and summary is not null")
    where = (
        copies.select("topic", "partition", "replica", *OF_COPY)
        .groupBy("topic", "partition")
        .applyInArrow(_disagreements, spark_schema(DISAGREEMENTS))
    )
    return where.mapInArrow(partial(_differences, mask=mask), spark_schema(DIFFERENCES))


def _disagreements(table: pa.Table) -> pa.Table:
    try:
        return pa.Table.from_pylist(list(disagreement_rows(table.to_pylist())), schema=pa.schema(DISAGREEMENTS))
    except OURS as error:
        raise error.with_traceback(None) from None


def _differences(tables: Iterator[pa.RecordBatch], mask: RecordMask | None) -> Iterator[pa.RecordBatch]:
    rows = (each for table in tables for row in table.to_pylist() for each in difference_rows(row, mask))
    try:
        while some := list(islice(rows, ROWS_AT_ONCE)):
            yield pa.RecordBatch.from_pylist(some, schema=pa.schema(DIFFERENCES))
    except OURS as error:
        raise error.with_traceback(None) from None
