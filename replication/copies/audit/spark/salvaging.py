"""The salvage of whole clusters with Spark: a task reads the copies of a partition."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from logstore.offline.columns.masked_rows import masked_rows
from logstore.offline.partition_directory import PartitionDirectory
from logstore.text.record_mask import RecordMask
from logstore.topic_partition import TopicPartition
from replication.copies.audit.log_rows.arrow_arrays import timestamps
from replication.copies.audit.snapshots.snapshot import Snapshot, ensure_listed, find_snapshots
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import MOST_TASKS, Copy
from replication.copies.audit.spark.sessions.session import send_packages
from replication.copies.audit.spark.spark_schema import spark_schema
from replication.copies.audit.spark.worker_modules import keep_modules
from replication.copies.audit.tables import TIMESTAMP, Columns
from replication.copies.planning.failures import PARTITION_ERRORS, OnError
from replication.copies.salvage.columns.block_sink import DISCARD
from replication.copies.salvage.columns.salvaged_block import SalvagedBlock
from replication.copies.salvage.files.arrow_records import SCHEMA, of_block
from replication.copies.salvage.partition_salvage import PartitionSalvage
from replication.copies.salvage.salvage_choice import Holding, SalvageChoice
from replication.copies.salvage.salvage_options import SalvageOptions

RECORDS: Final[Columns] = {
    **dict(zip(SCHEMA.names, SCHEMA.types, strict=True)),
    "timestamp": TIMESTAMP,
    "timestamp_ms": pa.int64(),
}
"""Those of the Parquet file, and the timestamp as stored, which may be beyond what Spark's can be."""
REPORTS: Final[Columns] = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "salvaged": pa.int64(),
    "left_out": pa.int64(),
    "is_in_doubt": pa.bool_(),
    "report": pa.string(),
    "errors": pa.list_(pa.string()),
}
"""A row a partition. `report` is what `epochlog salvage --json` says; null, as counts, where it cannot be read."""

Row = dict[str, Any]


class SparkSalvage(NamedTuple):
    """What is salvaged. Each action on one of the tables reads the copies."""

    records: DataFrame
    reports: DataFrame
    lacking: Sequence[TopicPartition]
    """Partitions that other copies hold and the kept one does not, and that are not looked at: no topic was named."""


@dataclass(frozen=True, slots=True)
class _Job:
    """A partition, and where its copies are."""

    topic_partition: TopicPartition
    copies: Sequence[Copy]
    kept: str
    options: SalvageOptions
    mask: RecordMask | None

    @contextmanager
    def salvage(self, on_error: OnError) -> Iterator[PartitionSalvage | None]:
        """Open the copies, those that are remote as local ones; None where the kept one cannot be."""
        with ExitStack() as stack:
            opened: dict[str, PartitionDirectory] = {}
            for copy in self.copies:
                try:
                    path = stack.enter_context(Storage(copy.root).local_copy(copy.directory, is_agreed=True))
                    opened[copy.replica] = PartitionDirectory.open(path)
                except PARTITION_ERRORS as error:
                    on_error(self.topic_partition, error)
            is_lost = self.kept not in opened and any(copy.replica == self.kept for copy in self.copies)
            is_one = not is_lost and bool(opened)
            yield PartitionSalvage(self.topic_partition, opened, self.kept, self.options) if is_one else None

    def report(self) -> Row:
        """Return what is salvaged."""
        errors: list[Exception] = []
        topic, partition = self.topic_partition
        with self.salvage(lambda _, error: errors.append(error)) as salvage:
            report = salvage.report(DISCARD, lambda _, error: errors.append(error)) if salvage else None
        if report and self.mask:
            report = report.masked(self.mask)
        row: Row = {**dict.fromkeys(REPORTS), "topic": topic, "partition": partition, "errors": list(map(str, errors))}
        if report:
            row |= {
                "salvaged": report.salvaged,
                "left_out": sum(report.counts.values()),
                "is_in_doubt": report.is_in_doubt,
                "report": dumps(report.as_json()),
            }
        return row

    def records(self) -> Iterator[pa.RecordBatch]:
        """Give the salvaged records; none of a partition that cannot be read, which its report says."""
        with self.salvage(_pass_over) as salvage:
            for block in filter(len, salvage.blocks(_pass_over)) if salvage else ():
                for rows in _rows(block):
                    yield rows if self.mask is None else masked_rows(rows, self.mask)


def salvage(
    spark: SparkSession,
    copies: Sequence[str | Path],
    kept: str,
    options: SalvageOptions | None = None,
    *,
    topics: Sequence[str] = (),
    mask: RecordMask | None = None,
) -> SparkSalvage:
    """Find what the kept copy of a cluster lacks and others hold, as `replication.salvage.plan_salvage` does.

    `copies` are what `find_snapshots` takes, and its errors are raised; `kept` is the name of a snapshot, or a broker's
    `node.id`. The records of a partition are those of the local salvage, and are in its order within the partition.
    With a `mask` keys, values and headers are given through it. Raises UnknownBrokerError, NothingChosenError.

    >>> found = salvage(start_session(), ["s3://backups/broker-1", "s3://backups/broker-2"], kept="broker-2")
    >>> found.records.where("topic = 'orders'").write.parquet("s3://recovered/orders")
    """
    options = options or SalvageOptions()
    snapshots = find_snapshots(copies)
    ensure_listed(snapshots)
    chosen = SalvageChoice.among(list(map(_holding, snapshots)), kept, topics, options.compacted)
    of_partition: dict[TopicPartition, list[Copy]] = {each: [] for each in chosen.partitions}
    for copy in (copy for snapshot in snapshots for copy in snapshot.copies()):
        if copy.topic_partition in of_partition:
            of_partition[copy.topic_partition].append(copy)
    jobs = [_Job(partition, held, chosen.kept, options, mask) for partition, held in of_partition.items()]
    send_packages(spark)
    numbers = spark.range(0, len(jobs), 1, max(1, min(len(jobs), MOST_TASKS)))
    return SparkSalvage(
        numbers.mapInArrow(_task(jobs, _records), spark_schema(RECORDS)),
        numbers.mapInArrow(_task(jobs, _reports), spark_schema(REPORTS)),
        chosen.lacking,
    )


def _task(
    jobs: Sequence[_Job], rows_of: Callable[[_Job], Iterable[pa.RecordBatch]]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what does the jobs whose numbers it is given."""

    def work(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in numbers for number in batch.column("id").to_pylist()):
            yield from rows_of(jobs[number])
        keep_modules()

    return work


def _records(job: _Job) -> Iterator[pa.RecordBatch]:
    return job.records()


def _reports(job: _Job) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pylist([job.report()], schema=pa.schema(REPORTS))


def _rows(block: SalvagedBlock) -> Iterator[pa.RecordBatch]:
    for rows in of_block(block):
        stored = rows.column("timestamp").view(pa.int64())
        columns: Mapping[str, pa.Array] = {
            **dict(zip(rows.schema.names, rows.columns, strict=True)),
            "timestamp": timestamps(stored.to_numpy()),
            "timestamp_ms": stored,
        }
        yield pa.RecordBatch.from_arrays([columns[name] for name in RECORDS], schema=pa.schema(RECORDS))


def _holding(snapshot: Snapshot) -> Holding:
    node_id = next((root.node_id for root in snapshot.roots if root.node_id is not None), None)
    return Holding(snapshot.name, node_id, snapshot.held, snapshot.held, snapshot.is_whole)


def _pass_over(_partition: TopicPartition, _error: Exception) -> None:
    """Leave it to the report."""
