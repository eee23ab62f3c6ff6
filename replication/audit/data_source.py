"""Kafka's log directories as tables of Spark: `spark.read.format("kafka-log").load("/var/lib/kafka/data")`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from logstore.log_file import LogFile
from replication.audit.copy_summary import SegmentExtent
from replication.audit.examination import ByteRange
from replication.audit.log_rows import RecordRows, batch_rows, read_columns
from replication.audit.part_scan import PartScan
from replication.audit.selection import Selection
from replication.audit.snapshot import list_snapshots
from replication.audit.storage import Storage
from replication.audit.tables import BATCHES, RECORDS, arrow_schema, spark_schema
from replication.audit.work import Copy, Job, plan_work, target_bytes
from replication.errors import UnknownOptionError

ROWS: Final = {"batches": BATCHES, "records": RECORDS}


class KafkaLogSource(DataSource):
    """The batches, or records, in copies of brokers' log.dirs.

    What is loaded is one `[NAME=]URI` or several, as `find_snapshots` takes them: a partition's directory too. Options:
    `rows`, `batches` (the default) or `records`; `columns`, names with commas between, in the order that is wished.
    Filters on replica, topic and partition, and on offsets as far as segments' names tell, spare what they leave out
    from being read.

    Batches behind damage are found again, those whose checksums do not hold have `crc_valid` false, and of those
    there are no records.

    >>> logs = spark.read.format("kafka-log").option("columns", "topic,record_count").load("/backup/broker-1")
    >>> logs.groupBy("topic").sum("record_count").show()
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kafka-log"

    def schema(self) -> StructType:
        """Return the columns of the rows that are asked for."""
        rows = self.options.get("rows", "batches")
        if rows not in ROWS:
            raise UnknownOptionError("rows", rows, ROWS)
        table = spark_schema(ROWS[rows])
        names = [name.strip() for name in self.options.get("columns", "").split(",") if name.strip()]
        for name in names:
            if name not in table.names:
                raise UnknownOptionError("columns", name, table.names)
        return StructType([table[name] for name in names]) if names else table

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads whole logs."""
        return KafkaLogReader(self.options, schema)


class FilteringKafkaLogSource(KafkaLogSource):
    """The same in sessions that push filters down."""

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads what filters leave."""
        return FilteringKafkaLogReader(self.options, schema)


class KafkaLogReader(DataSourceReader):
    """Reads logs by tasks of about equal bytes."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        paths = json.loads(options["paths"]) if "paths" in options else [options["path"]] if "path" in options else []
        self.paths: list[str] = paths
        self.records = options.get("rows") == "records"
        self.schema = schema
        self.selection = Selection()

    def partitions(self) -> list[InputPartition]:
        """Plan the tasks. Raises as `list_snapshots` does."""
        copies = [copy for snapshot in list_snapshots(self.paths) for copy in snapshot.copies()]
        jobs = [Job(copy.replica, copy.root, copy) for copy in map(self._selected, copies) if copy.segments]
        return list(map(InputPartition, plan_work(jobs, target_bytes(sum(job.cost for job in jobs)))))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the logs of one task. Raises OSError where one of them cannot be."""
        for job in partition.value or ():
            if job.copy is not None:
                yield from self._read(job, job.copy)

    def _read(self, job: Job, copy: Copy) -> Iterator[pa.RecordBatch]:
        files = {segment.base_offset: segment.file for segment in copy.segments}
        ranges = job.ranges or [ByteRange(segment.base_offset, 0, segment.size) for segment in copy.segments]
        wanted = {files[part.base_offset] for part in ranges}
        schema = arrow_schema(self.schema)
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
                        if self.records:
                            yield from RecordRows(constants, schema).read(log, columns)
                        else:
                            yield batch_rows(columns, constants, schema)

    def _selected(self, copy: Copy) -> Copy:
        """Leave out the segments in which, by their names, nothing is asked for."""
        topic, partition = copy.topic_partition
        if not copy.segments or not self.selection.wants(replica=copy.replica, topic=topic, partition=partition):
            return replace(copy, segments=())
        return replace(copy, segments=tuple(self._selected_segments(copy.segments)))

    def _selected_segments(self, segments: tuple[SegmentExtent, ...]) -> Iterator[SegmentExtent]:
        # The first batches of the next segment begin at its name's offset, or beyond where the cleaner was at work.
        ends = [*(segment.base_offset - 1 for segment in segments[1:]), 2**63 - 1]
        for segment, end in zip(segments, ends, strict=True):
            if segment.size and self.selection.meets(segment.base_offset, end):
                yield segment


class FilteringKafkaLogReader(KafkaLogReader):
    """Spares what filters leave out."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802  Spark's name
        """Take over filters, and yield those that Spark has to apply as well."""
        return self.selection.take(filters)


def register(spark: SparkSession, *, pushes_down: bool = True) -> None:
    """Make `kafka-log` known to a session; Spark refuses readers of filters where it does not push them down."""
    try:
        spark.dataSource.register(FilteringKafkaLogSource if pushes_down else KafkaLogSource)
    except AnalysisException as error:
        # Sessions of one application share what one of them has registered.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
