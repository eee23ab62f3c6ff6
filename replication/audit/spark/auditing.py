"""The audit of replica snapshots with Spark."""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final
from zlib import crc32

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from logstore.topic_partition import TopicPartition
from replication.audit.replica_finding import ReplicaFinding
from replication.audit.snapshots.arguments import (
    brokers_in,
    ensure_few_tasks,
    flag_in,
    replication_factor_in,
    sample_in,
    snapshots_in,
    task_bytes_in,
    topics_in,
)
from replication.audit.snapshots.missing_copies import Expectations, missing_copies, nowhere_findings
from replication.audit.snapshots.snapshot import Snapshot, assigned_in, find_snapshots, named_absolutely
from replication.audit.snapshots.work import Copy, Job, plan_work, target_bytes
from replication.audit.spark.audit_result import Audit
from replication.audit.spark.examine_job import examination
from replication.audit.spark.judge_job import finishing, judging
from replication.audit.spark.sessions.session import prepare_session, send_packages
from replication.audit.spark.source.selection import is_of_topics
from replication.audit.spark.tables import EXAMINED, FINDINGS, JUDGED, spark_schema
from replication.errors import MissingBrokersError, NothingChosenError

KEPT: Final = StorageLevel.MEMORY_AND_DISK
FEW_GROUPS: Final = 8
GROUP: Final = 50
"""Partitions that are judged by one task, where there are many."""


def audit(
    spark: SparkSession,
    snapshots: Sequence[str | Path],
    *,
    records: bool = False,
    topics: Sequence[str] = (),
    sample: float = 1.0,
    task_bytes: int | None = None,
    replication_factor: int | None = None,
    expected_brokers: Sequence[str | int] = (),
    found: Sequence[Snapshot] | None = None,
) -> Audit:
    """Compare the copies of all partitions that the snapshots hold.

    `snapshots` are what `find_snapshots` takes, and its errors are raised. With `records` every record is
    decoded. `topics` are names or patterns like `orders-*`; of `sample` below 1 that share of the partitions is taken,
    the same in each run; NothingChosenError is raised where that leaves none. `task_bytes` is what a task reads, chosen
    by the whole where it is not given. Of partitions that no copy of the cluster's metadata mentions there should be
    `replication_factor` copies, or as many as the other copies suggest. `expected_brokers` are names of snapshots, or
    brokers' `node.id`: MissingBrokersError is raised where one of them is not there. `found` is what `find_snapshots`
    has returned for the same snapshots, where that was asked already: large ones take long to list. WrongTypeError and
    NotAllowedError name the values that an argument may have.

    Every audit reads everything again, independently of others in the session, and is closed separately.

    >>> with audit(start_session(), ["/backup/broker-1", "/backup/broker-2"]) as audited:
    ...     audited.partitions.where("verdict != 'identical'").show()
    """
    begun = time.time()
    snapshots, records = snapshots_in(snapshots), flag_in("records", records)
    topics, sample, task_bytes = topics_in(topics), sample_in(sample), task_bytes_in(task_bytes)
    replication_factor = replication_factor_in(replication_factor)
    expected_brokers = brokers_in(expected_brokers)
    found = find_snapshots(snapshots) if found is None else found
    _ensure_expected(found, expected_brokers)
    copies = chosen_copies(found, topics, sample)
    wanted = {copy.topic_partition for copy in copies}
    total = sum(copy.bytes for copy in copies)
    ensure_few_tasks(task_bytes, total)
    tasks = plan_work(_jobs(found, copies), task_bytes or target_bytes(total))
    send_packages(spark)
    examined = examination(spark, tasks, records=records).persist(KEPT)
    kept = [examined]
    wholes = examined.where("not is_part")
    groups = _groups(len(wanted))
    if any(job.ranges for task in tasks for job in task):
        parts = examined.where("is_part").repartition(groups, "copy").groupBy("copy")
        finished = parts.applyInArrow(finishing(records=records), spark_schema(EXAMINED)).persist(KEPT)
        kept.append(finished)
        wholes = wholes.union(finished)
    held = {snapshot.name: _wanted(snapshot.held, topics, sample) for snapshot in found}
    expected = Expectations(
        {each: names for each, names in assigned_in(found).items() if _is_wanted(each, topics, sample)},
        {snapshot.name: _wanted(snapshot.listed, topics, sample) for snapshot in found},
        replication_factor,
    )
    missing = missing_copies(held, expected)
    judged = (
        wholes.where("topic is not null")
        .select("topic", "partition", "replica", "copy", "summary", "digests")
        .repartition(groups, "topic", "partition")
        .groupBy("topic", "partition")
        .applyInArrow(judging(missing), spark_schema(JUDGED))
        .persist(KEPT)
    )
    return Audit(
        spark=spark,
        named=tuple(snapshots),
        snapshots=tuple(found),
        tasks=tuple(tasks),
        begun=begun,
        examined=wholes,
        judged=judged,
        other_findings=_findings_table(spark, nowhere_findings(held, expected)),
        kept=(*kept, judged),
        read_batches=partial(_batches, spark, snapshots, wanted, is_whole=not topics and sample >= 1),
    )


def chosen_copies(snapshots: Sequence[Snapshot], topics: Sequence[str], sample: float) -> list[Copy]:
    """List the copies to be examined, `topics` and `sample` being as for `audit`.

    Raises NothingChosenError, and WrongTypeError or NotAllowedError for what they cannot be.
    """
    topics, sample = topics_in(topics), sample_in(sample)
    copies = [copy for snapshot in snapshots for copy in snapshot.copies()]
    wanted = _wanted([copy.topic_partition for copy in copies], topics, sample)
    if not wanted:
        raise NothingChosenError(topics, {copy.topic_partition.topic for copy in copies}, sample=sample)
    return [copy for copy in copies if copy.topic_partition in wanted]


def _jobs(snapshots: Sequence[Snapshot], copies: Sequence[Copy]) -> Iterator[Job]:
    for snapshot in snapshots:
        for root in snapshot.roots:
            yield Job(snapshot.name, root.storage.uri)
    for copy in copies:
        yield Job(copy.replica, copy.root, copy)


def _wanted(partitions: Iterable[TopicPartition], topics: Sequence[str], sample: float) -> set[TopicPartition]:
    """Choose by name, and a share by names' checksums, so that each run and each broker has the same."""
    return {partition for partition in partitions if _is_wanted(partition, topics, sample)}


def _is_wanted(partition: TopicPartition, topics: Sequence[str], sample: float) -> bool:
    return is_of_topics(partition, topics) and crc32(str(partition).encode()) < sample * 2**32


def _groups(partitions: int) -> int:
    """Into how many tasks the judging is divided: Spark itself would go by bytes, which are few, and take one."""
    return min(partitions, max(FEW_GROUPS, partitions // GROUP))


def _batches(
    spark: SparkSession, snapshots: Sequence[str | Path], wanted: Collection[TopicPartition], *, is_whole: bool
) -> DataFrame:
    prepare_session(spark)
    reader = spark.read.format("kafka-log")
    if not is_whole:
        reader = reader.option("partitions", ",".join(sorted(map(str, wanted))))
    return reader.load(list(map(named_absolutely, snapshots)))


def _findings_table(spark: SparkSession, findings: Sequence[ReplicaFinding]) -> DataFrame | None:
    if not findings:
        return None
    rows = pa.Table.from_pylist([finding.as_json() for finding in findings], schema=pa.schema(FINDINGS))
    return spark.createDataFrame(rows)


def _ensure_expected(found: Sequence[Snapshot], brokers: Sequence[str | int]) -> None:
    """Raise MissingBrokersError where a broker is not among the snapshots, by their names or their node.id."""
    there = {snapshot.name for snapshot in found}
    there |= {str(root.node_id) for snapshot in found for root in snapshot.roots if root.node_id is not None}
    lacking = [str(broker) for broker in brokers if str(broker) not in there]
    if lacking:
        raise MissingBrokersError(lacking, [snapshot.name for snapshot in found])
