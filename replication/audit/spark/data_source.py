"""Kafka's log directories as tables of Spark: `spark.read.format("kafka-log").load("/var/lib/kafka/data")`.

Filters are not pushed down. Spark keeps what it has pushed into a data source of Python for all queries of one
DataFrame, so that one query's filter would hold in the next (PythonDataSourceV2.setReadInfo, in 4.1 to 4.3).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from logstore.offline.log_file import LogFile
from replication.audit.examination.part_scan import PartScan
from replication.audit.snapshots.snapshot import list_snapshots
from replication.audit.snapshots.storage import Storage
from replication.audit.snapshots.work import ByteRange, Copy, Job, plan_work, target_bytes
from replication.audit.spark.log_rows import RecordRows, batch_rows, read_columns
from replication.audit.spark.source_options import SourceOptions
from replication.audit.spark.tables import Columns, spark_schema
from replication.errors import NotAllowedError, NothingChosenError


class KafkaLogSource(DataSource):
    """The batches, or records, in copies of brokers' log.dirs.

    What is loaded is one `[NAME=]URI` or several, as `find_snapshots` takes them: a partition's directory too. Options:
    `rows`, `batches` (the default) or `records`; `columns`, names with commas between, in the wanted order;
    `topics`, names or patterns like `orders-*`; `partitions`, such as `orders-0,orders-1`; `first_offset` and
    `last_offset`, of the first and the last wanted record. What the last four leave out is not read, which
    filters do not spare.

    Batches behind damage are found again, those whose checksums do not match have `crc_valid` false, and of those
    there are no records.

    >>> logs = spark.read.format("kafka-log").option("columns", "topic,record_count").load("/backup/broker-1")
    >>> logs.groupBy("topic").sum("record_count").show()
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        """Check the options. Raises UnknownOptionError, NotAllowedError."""
        super().__init__(dict(options))
        self.chosen = SourceOptions.of(options)

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kafka-log"

    def schema(self) -> StructType:
        """Return the columns of the rows that are asked for."""
        return spark_schema(self.chosen.columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads these columns. Raises NotAllowedError for a schema with others."""
        return KafkaLogReader(self.chosen, _columns_of(schema, self.chosen.columns))


class KafkaLogReader(DataSourceReader):
    """Reads logs by tasks of about equal bytes."""

    def __init__(self, chosen: SourceOptions, columns: Columns) -> None:
        """Read `columns` of what is chosen."""
        self.chosen = chosen
        self.columns = columns

    def partitions(self) -> list[InputPartition]:
        """Plan the tasks. Raises NothingChosenError, and as `list_snapshots` does."""
        copies = [copy for snapshot in list_snapshots(self.chosen.paths) for copy in snapshot.copies()]
        jobs = [Job(copy.replica, copy.root, copy) for copy in self._selected(copies) if copy.segments]
        tasks = plan_work(jobs, target_bytes(sum(job.cost for job in jobs)))
        # Where there are no tasks at all, PySpark 4.1 makes one of None.
        return list(map(InputPartition, tasks or [()]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the logs of one task. Raises OSError where one of them cannot be."""
        for job in partition.value:
            if job.copy is not None:
                yield from self._read(job, job.copy)

    def _read(self, job: Job, copy: Copy) -> Iterator[pa.RecordBatch]:
        files = {segment.base_offset: segment.file for segment in copy.segments}
        ranges = job.ranges or [ByteRange(segment.base_offset, 0, segment.size) for segment in copy.segments]
        wanted = {files[part.base_offset] for part in ranges}
        schema = pa.schema(self.columns)
        selection = self.chosen.selection
        with Storage(copy.root).local_copy(copy.directory, only=wanted) as directory:
            for part in ranges:
                constants = {
                    "replica": copy.replica,
                    "topic": copy.topic_partition.topic,
                    "partition": copy.topic_partition.partition,
                    "segment": part.base_offset,
                    "file": files[part.base_offset],
                }
                with LogFile.open(directory / files[part.base_offset]) as log:
                    for columns in read_columns(log, PartScan(part.start, part.end).scan):
                        wanted_here = selection.batches(columns)
                        if self.chosen.is_records:
                            yield from RecordRows(constants, schema, selection).read(log, wanted_here)
                        else:
                            yield batch_rows(wanted_here, constants, schema)

    def _selected(self, copies: Sequence[Copy]) -> Iterator[Copy]:
        """Leave out the copies, and the segments, in which by their names nothing is asked for."""
        selection = self.chosen.selection
        wanted = [copy for copy in copies if selection.wants(copy.topic_partition)]
        if copies and not wanted:
            held = {copy.topic_partition.topic for copy in copies}
            raise NothingChosenError(selection.topics, held, partitions=sorted(map(str, selection.partitions)))
        for copy in wanted:
            yield replace(copy, segments=tuple(selection.segments(copy.segments)))


def register(spark: SparkSession) -> None:
    """Make `kafka-log` known to a session."""
    try:
        spark.dataSource.register(KafkaLogSource)
    except AnalysisException as error:
        # Sessions of one application share what one of them has registered.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


def _columns_of(schema: StructType, known: Columns) -> Columns:
    """Find the columns of a schema, which is ours unless a user has given one."""
    ours = spark_schema(known)
    for field in schema:
        if field.name not in known or field.dataType != ours[field.name].dataType:
            allowed = ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in ours)
            raise NotAllowedError("a schema of kafka-log", field.simpleString(), allowed)
    return {field.name: known[field.name] for field in schema}
