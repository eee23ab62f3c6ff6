"""Kafka's log directories as tables of Spark: `spark.read.format("kafka-log").load("/var/lib/kafka/data")`."""

from collections.abc import Mapping
from typing import Final, NoReturn

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from replication.base.errors import NotAllowedError, ReadOnlyError, StreamingNotSupportedError
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from replication.copies.audit.spark.source.brief_errors import told_briefly
from replication.copies.audit.spark.source.log_reader import KafkaLogReader, PushingReader
from replication.copies.audit.spark.source.table_options import (
    ensure_placed,
    has_place,
    options_of_new_table,
    options_with,
    with_options,
)
from replication.copies.audit.spark.spark_schema import spark_schema
from replication.copies.audit.tables import Columns


class KafkaLogSource(DataSource):
    """The batches, records, leader epochs or segments in copies of brokers' log.dirs.

    What is loaded is one `[NAME=]URI` or several, as `find_snapshots` takes them: a partition's directory too.
    Paths may be patterns, such as `/backup/*/`. Options:

    - `rows`: `batches` (the default), `records`, `epochs` or `segments`
    - `columns`: names with commas between, in the wanted order; no others are decoded
    - `topics`, names or patterns like `orders-*`; `partitions`, such as `orders-0,pay*-*`; `replicas`
    - `startingOffsets`, `endingOffsets`, `startingTimestamp`, `endingTimestamp`: as of Spark's own source of Kafka
    - `where`: a condition, of which only what fulfils it is read: `topic LIKE 'orders%' AND offset < 1000`
    - `isolation`: `read_uncommitted` (the default), or `read_committed`, what consumers of committed records are given
    - `mode`: PERMISSIVE, DROPMALFORMED or FAILFAST (the default for records), for what cannot be read
    - `failOnDataLoss`: `true` (the default for records) to end a query that would lack offsets, or have some twice
    - `mask`: `keys`, `values` or `keys,values`: what is masked in records, `maskAs` `hash` or `length`, with a salt of
      the file `maskSalt`
    - `taskBytes`: about how many bytes one task reads
    - `pushdown`: `true` to take over each query's filters, for DataFrames that are queried once

    >>> logs = spark.read.format("kafka-log").option("columns", "topic,record_count").load("/backup/broker-1")
    >>> logs.groupBy("topic").sum("record_count").show()
    """

    @told_briefly
    def __init__(self, options: Mapping[str, str]) -> None:
        """Check the options. Raises UnknownOptionError, NotAllowedError."""
        super().__init__(dict(options))
        of_new_table = options_of_new_table(options)
        self._is_of_new_table = of_new_table is not None
        self._given = dict(options) if of_new_table is None else of_new_table
        if has_place(self._given):  # else what there is stands with the columns of a table
            SourceOptions.of(self._given)

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kafka-log"

    @told_briefly
    def schema(self) -> StructType:
        """Return the columns of the rows that are asked for. Raises NotAllowedError without a path."""
        ensure_placed(self._given)
        schema = spark_schema(SourceOptions.of(self._given).columns)
        return with_options(schema, self._given) if self._is_of_new_table else schema

    @told_briefly
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads these columns. Raises NotAllowedError for a schema with others, and without a path."""
        options = options_with(schema, self._given)
        ensure_placed(options)
        chosen = SourceOptions.of(options)
        # Up to 4.3 Spark keeps what it has pushed for all queries of one DataFrame (PythonDataSourceV2.setReadInfo).
        reader = PushingReader if chosen.pushes_filters else KafkaLogReader
        return reader(chosen, _columns_of(schema, chosen.columns))

    @told_briefly
    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002  Spark's
        """Raise ReadOnlyError."""
        raise ReadOnlyError

    @told_briefly
    def streamReader(self, schema: StructType) -> NoReturn:  # noqa: ARG002, N802  Spark's names
        """Raise StreamingNotSupportedError: files do not show what of them is committed and will stay."""
        raise StreamingNotSupportedError


_CREDENTIALS: Final = r":/{1,3}[^/@\s:]*:[^@\s]+@"
"""In an address, as Java has it: what `address_secrets` hides."""
_REDACTION: Final = {
    "spark.sql.redaction.options.regex": f"(?i)url|{_CREDENTIALS}",
    "spark.sql.redaction.string.regex": _CREDENTIALS,
}
"""What Spark hides in its event log and web interface; the first is its own default besides."""


def register(spark: SparkSession) -> None:
    """Make `kafka-log` known to a session, and let Spark show nobody the keys that an address has."""
    for name, pattern in _REDACTION.items():
        given = spark.conf.get(name, "")
        if _CREDENTIALS not in (given or ""):
            spark.conf.set(name, f"{given}|{pattern}" if given else pattern)
    try:
        spark.dataSource.register(KafkaLogSource)
    except AnalysisException as error:
        # Sessions of one application share what one of them has registered.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


def _columns_of(schema: StructType, known: Columns) -> Columns:
    """Find the columns of a schema, which is ours unless a user has given one."""
    ours = spark_schema(known)
    asked = [field.name for field in schema]
    if not asked or len({*asked}) < len(asked):
        raise _refused_schema(schema.simpleString(), ours)
    for field in schema:
        if field.name not in known or field.dataType != ours[field.name].dataType or not field.nullable:
            raise _refused_schema(field.simpleString(), ours)
    return {name: known[name] for name in asked}


def _refused_schema(asked: str, ours: StructType) -> NotAllowedError:
    columns = ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in ours)
    return NotAllowedError(
        "a schema of kafka-log", asked, f"some of these columns, each once, with nulls allowed: {columns}"
    )
