"""A table of offsets that somebody has, as Spark reads it: Delta Lake, Iceberg or Parquet."""

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import DataType, IntegralType, StringType

from logstore.topic_partition import TopicPartition
from replication.base.counted import counted
from replication.copies.explain.errors import OffsetsFileError
from replication.copies.explain.got_offsets import NAMED, OFFSET, WHOSE, refuse_others

_ROWS: Final = "rows"
_OWN: Final = "own"


def open_table(spark: SparkSession, name: str | Path) -> DataFrame:
    """Open a table by its name in a catalog, or by the path of its directory, which is a text with a `/` or a Path.

    A directory is one of Delta Lake, Iceberg or Parquet, by what is in it; names are as `spark.table` takes them, such
    as `lake.kafka.sink`, or ``delta.`s3a://bucket/sink` `` where the table is elsewhere. Raises what Spark raises.
    """
    if isinstance(name, str) and ("`" in name or "/" not in name):
        return spark.table(name)
    path = Path(name).absolute()
    return spark.read.format(_format_of(path)).load(str(path))


def table_offsets(table: DataFrame, name: str, partition: TopicPartition) -> NDArray[np.int64]:
    """Read a partition's offsets, each once and by size, as `replication.explain.read_offsets` does of a file.

    Raises OffsetsFileError, with `name` for what the table is, and what Spark raises.
    """
    columns = _columns(table, name)
    is_own = f.lit(True)
    for each in columns[1:]:
        is_own &= f.col(each) == getattr(partition, each)
    rows = table.select(*columns)
    tally = rows.agg(
        f.count(f.lit(1)).alias(_ROWS),
        f.count(f.when(is_own, 1)).alias(_OWN),
        *(f.count(each).alias(each) for each in columns),
    ).first()
    if tally is not None:
        _ensure_whole(tally, columns, name)
        if tally[_ROWS] and not tally[_OWN]:
            others = rows.select(*columns[1:]).distinct().orderBy(*columns[1:]).limit(2 * NAMED).collect()
            refuse_others(name, partition, [each.asDict() for each in others])
    read = rows.where(is_own).select(f.col(OFFSET).cast("bigint").alias(OFFSET)).toArrow()
    offsets: NDArray[np.int64] = np.unique(read[OFFSET].to_numpy())
    if len(offsets) and offsets[0] < 0:
        raise OffsetsFileError(name, f"{int(offsets[0])} is no offset: they begin at 0")
    return offsets


def _format_of(path: Path) -> str:
    if (path / "_delta_log").is_dir():
        return "delta"
    return "iceberg" if any((path / "metadata").glob("*.metadata.json")) else "parquet"


def _columns(table: DataFrame, name: str) -> list[str]:
    """Name the columns that count. Raises OffsetsFileError where one is lacking or of another type."""
    kinds = {field.name: field.dataType for field in table.schema.fields}
    if OFFSET not in kinds:
        raise OffsetsFileError(name, f"it has no column `{OFFSET}`, but {', '.join(sorted(kinds))}")
    found = [OFFSET, *(each for each in WHOSE if each in kinds)]
    for each in found:
        wanted, words = _expected(each)
        if not isinstance(kinds[each], wanted):
            raise OffsetsFileError(name, f"its column `{each}` is {kinds[each].simpleString()}: expected {words}")
    return found


def _expected(column: str) -> tuple[type[DataType], str]:
    return (StringType, "text") if column == "topic" else (IntegralType, "integers")


def _ensure_whole(tally: Row, columns: list[str], name: str) -> None:
    for each in columns:
        if nulls := tally[_ROWS] - tally[each]:
            raise OffsetsFileError(name, f"its column `{each}` has {counted(nulls, 'null')}: leave these rows out")
