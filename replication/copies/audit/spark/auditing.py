"""The audit of replica snapshots with Spark."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.storagelevel import StorageLevel

from logstore.text.record_mask import RecordMask
from replication.copies.audit.coordinators.consumer_offsets import CONSUMER_OFFSETS
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.copies.audit.pipeline.audit_plan import AuditPlan, plan_audit
from replication.copies.audit.pipeline.internal_topics import COMMITTED_OFFSETS
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.snapshot import Snapshot, named_absolutely
from replication.copies.audit.spark.audit_result import Audit
from replication.copies.audit.spark.examine_job import examination
from replication.copies.audit.spark.internal_topic_job import read_leading
from replication.copies.audit.spark.judge_job import finishing, judging
from replication.copies.audit.spark.sessions.session import prepare_session, send_packages
from replication.copies.audit.spark.spark_schema import spark_schema
from replication.copies.audit.tables import EXAMINED, FINDINGS, JUDGED

KEPT: Final = StorageLevel.MEMORY_AND_DISK
FEW_GROUPS: Final = 8
GROUP: Final = 50
"""Partitions that are judged by one task, where there are many."""
_JUDGED_BY: Final = ("topic", "partition", "replica", "copy", "summary", "digests")
_OF_COMMITS: Final = {"group": "string", "offset": "bigint", "leader_epoch": "int"}


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
    history: str | Path | None = None,
    full: bool = False,
    rotate: int | None = None,
    mask: RecordMask | None = None,
    progress: Callable[[int], None] = lambda _bytes: None,
    found: Sequence[Snapshot] | None = None,
) -> Audit:
    """Compare the copies of all partitions that the snapshots hold.

    `snapshots` are what `find_snapshots` takes, and its errors are raised. With `records` every record is
    decoded. `topics` are names or patterns like `orders-*`; of `sample` below 1 that share of the partitions is taken,
    the same in each run; NothingChosenError is raised where that leaves none. `task_bytes` is what a task reads, chosen
    by the whole where it is not given. Of partitions that no copy of the cluster's metadata mentions there should be
    `replication_factor` copies, or as many as the other copies suggest. `expected_brokers` are names of snapshots, or
    brokers' `node.id`: MissingBrokersError is raised where one of them is not there.

    `history` is a directory, or a URI, that keeps what audits of one cluster have read: closed segments that have not
    changed since are not read again, unless `full`; with `rotate` some of them are in each run, so that all are within
    so many runs. `Audit.keep` adds what was found. On a cluster it must be one that
    all executors write to. `found` is what `find_snapshots` has returned for the same snapshots, where that was asked
    already: large ones take long to list. Keys and values of `differences`, names of groups and transactional ids are
    given through the `mask`. WrongTypeError and NotAllowedError name the values that an argument may have.

    While `Audit.document` is made, `progress` is called with the number of bytes of log that were examined, Spark's
    pages describe the jobs, and an interrupt ends them. Audits of one session are independent, and closed separately.

    >>> with audit(start_session(), ["/backup/broker-1", "/backup/broker-2"]) as audited:
    ...     audited.partitions.where("verdict != 'identical'").show()
    """
    options = AuditOptions(
        records=records,
        topics=topics,
        sample=sample,
        task_bytes=task_bytes,
        replication_factor=replication_factor,
        expected_brokers=expected_brokers,
        history=history,
        full=full,
        rotate=rotate,
        mask=mask,
    )
    return carry_out(spark, plan_audit(snapshots, options, found), progress=progress)


def carry_out(spark: SparkSession, plan: AuditPlan, *, progress: Callable[[int], None] = lambda _bytes: None) -> Audit:
    """Do a planned audit with Spark, once rows of it are requested."""
    send_packages(spark)
    examined = examination(spark, plan.tasks, plan.new_examiner).persist(KEPT)
    kept = [examined]
    wholes = examined.where("not is_part")
    groups = _groups(len(plan.partitions))
    if any(job.ranges for task in plan.tasks for job in task):
        parts = examined.where("is_part").repartition(groups, "copy").groupBy("copy")
        finished = parts.applyInArrow(finishing(plan.new_examiner), spark_schema(EXAMINED)).persist(KEPT)
        kept.append(finished)
        wholes = wholes.union(finished)
    copies = wholes.where("topic is not null").select(*_JUDGED_BY)
    judging_all = partial(_judged, groups=groups, plan=plan)
    committed = None
    if any(each.topic == CONSUMER_OFFSETS for each in plan.partitions):
        is_of_offsets = f.col("topic") == CONSUMER_OFFSETS
        offsets = judging_all(copies.where(is_of_offsets), None).persist(KEPT)
        committed = read_leading(COMMITTED_OFFSETS, wholes, offsets).persist(KEPT)
        judged = offsets.union(judging_all(copies.where(~is_of_offsets), committed)).persist(KEPT)
        kept += [offsets, committed]
    else:
        judged = judging_all(copies, None).persist(KEPT)
    return Audit(
        spark=spark,
        plan=plan,
        examined=wholes,
        judged=judged,
        committed=committed,
        other_findings=_findings_table(spark, plan.findings),
        kept=(*kept, judged),
        read_batches=partial(_batches, spark, plan),
        progress=progress,
    )


def _judged(copies: DataFrame, committed: DataFrame | None, *, groups: int, plan: AuditPlan) -> DataFrame:
    """Judge partitions by their copies, and by what groups have committed for them, where that is known."""
    rows = copies.withColumns({name: f.lit(None).cast(kind) for name, kind in _OF_COMMITS.items()})
    if committed is not None:
        rows = rows.unionByName(committed, allowMissingColumns=True)
    return (
        rows.repartition(groups, "topic", "partition")
        .groupBy("topic", "partition")
        .applyInArrow(judging(plan.missing, plan.registered, plan.known_verdicts), spark_schema(JUDGED))
    )


def _groups(partitions: int) -> int:
    """Into how many tasks the judging is divided: Spark itself would go by bytes, which are few, and take one."""
    return min(partitions, max(FEW_GROUPS, partitions // GROUP))


def _batches(spark: SparkSession, plan: AuditPlan) -> DataFrame:
    plan.ensure_unchanged()
    prepare_session(spark)
    reader = spark.read.format("kafka-log").options(**plan.batch_options)
    return reader.load(list(map(named_absolutely, plan.named)))


def _findings_table(spark: SparkSession, findings: Sequence[ReplicaFinding]) -> DataFrame | None:
    if not findings:
        return None
    rows = pa.Table.from_pylist([finding.as_json() for finding in findings], schema=pa.schema(FINDINGS))
    return spark.createDataFrame(rows)
