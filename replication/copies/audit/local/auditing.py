"""The audit of replica snapshots on one machine, without Spark."""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from logstore.text.record_mask import RecordMask
from logstore.topic_partition import TopicPartition
from replication.copies.audit.coordinators.commits import with_read_positions
from replication.copies.audit.coordinators.consumer_offsets import CONSUMER_OFFSETS
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.examination.kept.known_verdicts import KnownVerdicts
from replication.copies.audit.local.local_audit import LocalAudit, by_partition
from replication.copies.audit.local.metered_pool import MeteredPool
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.copies.audit.pipeline.audit_plan import AuditPlan, NewExaminer, plan_audit
from replication.copies.audit.pipeline.committed_rows import read_by_groups
from replication.copies.audit.pipeline.internal_topics import COMMITTED_OFFSETS, TopicReading, stranded, topic_readings
from replication.copies.audit.pipeline.partition_rows import Missing, finish_rows, judge_rows
from replication.copies.audit.snapshots.arguments import workers_in
from replication.copies.audit.snapshots.registered import Registrations
from replication.copies.audit.snapshots.remote.traffic import TRAFFIC
from replication.copies.audit.snapshots.snapshot import Snapshot
from replication.copies.audit.snapshots.work import Task
from replication.copies.audit.tables import EXAMINED
from replication.copies.workers.worker_pool import WorkerPool

WORTH_WORKERS: Final = 256 << 20
"""What this process does alone, in bytes and what copies cost besides: starting others would take longer."""
SMALLEST_TASK, LARGEST_TASK = 8 << 20, 256 << 20
TASKS_A_WORKER: Final = 8
"""Into how many tasks the work is divided at least, where that makes none too small: so that all end at once."""
JUDGED_AT_ONCE: Final = 20
"""Partitions that are judged by one call."""

Advance = Callable[[int], None]
Place = tuple[str, str]
"""Of a copy: its root, and its directory there."""


def leading_copies(topic: str, examined: Iterable[Row], judged: Iterable[Row]) -> Iterator[Row]:
    """Pick of each of the topic's partitions the copy that is recommended."""
    leaders = {row["partition"]: row["recommended"] for row in judged if row["topic"] == topic}
    for row in examined:
        if row["topic"] == topic and row["summary"] is not None and leaders.get(row["partition"]) == row["replica"]:
            yield row


def audit_locally(
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
    live: bool = False,
    patience: float = 60.0,
    mask: RecordMask | None = None,
    workers: int | None = None,
    progress: Advance = lambda _bytes: None,
) -> LocalAudit:
    """Compare the copies of all partitions that the snapshots hold, in processes of this machine.

    The arguments and errors are those of `audit`, which does the same with Spark, and so are the rows of all tables.
    `workers` are the processes that share the work, as many as the machine has processors if not given; 0 keeps it in
    this one, and so does little work. With `live` brokers write to the directories: partitions that move while they are
    read are read again, for `patience` seconds after all were read once; those that never stand still are `unknown`.
    `workers` are one at least then, and `task_bytes` is not allowed.

    `progress` is called with the number of bytes of log that were examined. Raises WorkerDiedError where a worker dies
    again and again.

    >>> audited = audit_locally(["/backup/broker-1", "/backup/broker-2"])
    >>> audited.partitions.filter(pc.field("verdict") != "identical")
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
        live=live,
        patience=patience,
        mask=mask,
    )
    return carry_out(plan_locally(snapshots, options, workers=workers), workers=workers, progress=progress)


def plan_locally(
    snapshots: Sequence[str | Path],
    options: AuditOptions,
    found: Sequence[Snapshot] | None = None,
    *,
    workers: int | None = None,
) -> AuditPlan:
    """Plan an audit for this machine; see `plan_audit`."""
    count = workers_in(workers, 1 if options.live else 0) or os.cpu_count() or 1

    def target(total: int) -> int:
        return min(LARGEST_TASK, max(SMALLEST_TASK, total // (count * TASKS_A_WORKER)))

    return plan_audit(snapshots, options, found, target)


def carry_out(plan: AuditPlan, *, workers: int | None = None, progress: Advance = lambda _bytes: None) -> LocalAudit:
    """Do a planned audit."""
    known = {} if plan.options.live or plan.run_before is None else _recalled(plan, progress)
    tasks = list(_left(plan.tasks, known))
    with WorkerPool(_workers_for(plan, tasks, workers)) as pool:
        if plan.options.live:
            from replication.copies.audit.local.live_auditing import audit_live  # noqa: PLC0415  start-up time

            return audit_live(plan, pool, progress)
        metered = MeteredPool(pool)
        rows = [*known.values(), *(row for some in _examined(metered, plan, tasks, progress) for row in some)]
        parts: dict[str, list[Row]] = {}
        for row in rows:
            if row["is_part"]:
                parts.setdefault(row["copy"], []).append(row)
        finished = metered.map(_finish, ((of_copy, plan.new_examiner) for of_copy in parts.values()))
        wholes = [*(row for row in rows if not row["is_part"]), *finished]
        groups = by_partition(map(_as_judged, wholes))
        of_offsets = [rows for (topic, _), rows in groups.items() if topic == CONSUMER_OFFSETS]
        judged = _judged(metered, of_offsets, plan, plan.registered)
        committed = _read(metered, COMMITTED_OFFSETS, wholes, judged)
        others = [rows for (topic, _), rows in groups.items() if topic != CONSUMER_OFFSETS]
        judged += _judged(metered, others, plan, with_read_positions(plan.registered, read_by_groups(committed)))
        read = {reading.topic: _read(metered, reading, wholes, judged) for reading in topic_readings(judged)}
    fetched = TRAFFIC.so_far.since(plan.fetched_before).plus(metered.fetched)
    return LocalAudit(plan, wholes, judged, stranded(judged, {CONSUMER_OFFSETS: committed, **read}), fetched=fetched)


def _judged(
    pool: MeteredPool, groups: Sequence[Sequence[Row]], plan: AuditPlan, registered: Registrations
) -> list[Row]:
    some = [groups[first : first + JUDGED_AT_ONCE] for first in range(0, len(groups), JUDGED_AT_ONCE)]
    judging = ((each, plan.missing, _of(each, registered), plan.known_verdicts) for each in some)
    return [row for each in pool.map(_judge, judging) for row in each]


def _read(pool: MeteredPool, reading: TopicReading, copies: Sequence[Row], judged: Sequence[Row]) -> list[Row]:
    """Read the copies of a topic that should lead."""
    leading = ((copy,) for copy in leading_copies(reading.topic, copies, judged))
    return [row for some in pool.map(reading.read, leading) for row in some]


def _recalled(plan: AuditPlan, progress: Advance) -> dict[Place, Row]:
    """Recall the rows of copies on disks that stand as they were: reading one takes longer than asking the history."""
    examiner = plan.new_examiner()
    known: dict[Place, Row] = {}
    for copy in plan.copies:
        row = examiner.recalled(copy) if copy.is_local else None
        if row is not None:
            known[copy.root, copy.directory] = {**dict.fromkeys(EXAMINED), **row}
            progress(copy.bytes)
    return known


def _left(tasks: Iterable[Task], known: Collection[Place]) -> Iterator[Task]:
    """Leave out the copies that are known."""
    for task in tasks:
        left = tuple(job for job in task if job.copy is None or (job.copy.root, job.copy.directory) not in known)
        if left:
            yield left


def _workers_for(plan: AuditPlan, tasks: Sequence[Task], workers: int | None) -> int:
    """Choose how many processes there are beside this one; none where another Python cannot be started.

    Logs that brokers truncate meanwhile are never read in this one, which would end it.
    """
    cost = sum(job.cost for task in tasks for job in task)
    if workers is None and not plan.options.live and (cost < WORTH_WORKERS or not sys.executable):
        return 0
    return min(len(tasks), (os.cpu_count() or 1) if workers is None else workers)


def _examined(pool: MeteredPool, plan: AuditPlan, tasks: Sequence[Task], progress: Advance) -> Iterator[list[Row]]:
    """Examine all tasks; what each has read counts once those before it are done."""
    for task, rows in zip(tasks, pool.map(_examine, ((task, plan.new_examiner) for task in tasks)), strict=True):
        progress(sum(job.bytes for job in task))
        yield rows


def _examine(task: Task, new_examiner: NewExaminer) -> list[Row]:
    return [{**dict.fromkeys(EXAMINED), **row} for row in new_examiner().rows(task)]


def _finish(rows: Sequence[Row], new_examiner: NewExaminer) -> Row:
    return {**dict.fromkeys(EXAMINED), **finish_rows(rows, new_examiner())}


def _as_judged(row: Row) -> Row:
    """Return the part of a copy's row that judging needs, as it goes to another process."""
    return {name: row[name] for name in ("topic", "partition", "replica", "copy", "summary", "digests")}


def _of(partitions: Sequence[Sequence[Row]], registered: Registrations) -> Registrations:
    """Choose what goes to another process."""
    names = (TopicPartition(rows[0]["topic"], rows[0]["partition"]) for rows in partitions)
    return {name: registered[name] for name in names if name in registered}


def _judge(
    partitions: Sequence[Sequence[Row]], missing: Missing, registered: Registrations, known: KnownVerdicts | None
) -> list[Row]:
    return [judge_rows(rows, missing, registered, known) for rows in partitions]
