"""The audit of directories that brokers write to: partitions that move while they are read are read again."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Reporter
from replication.base.errors import WorkerDiedError
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.local.live_look import LiveLook, cut_off, look
from replication.copies.audit.local.live_passes import LivePasses
from replication.copies.audit.local.live_task import LiveTask, live_tasks
from replication.copies.audit.local.local_audit import LocalAudit
from replication.copies.audit.pipeline.audit_plan import AuditPlan
from replication.copies.audit.pipeline.internal_topics import Stranded
from replication.copies.audit.pipeline.live_reading import LiveReading, ReadAgain
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.missing_copies import NOWHERE
from replication.copies.audit.snapshots.work import Job
from replication.copies.workers.worker_pool import WorkerPool

MOVED = "moved-while-read"


def audit_live(plan: AuditPlan, pool: WorkerPool, progress: Callable[[int], None]) -> LocalAudit:
    """Do an audit whose plan is live, in other processes: a log that is truncated ends the one that reads it.

    What takes two partitions at one moment is left out: what groups have committed, and what coordinators know of
    transactions. Raises what `audit_locally` raises.
    """
    tasks = list(live_tasks(plan))
    passes = LivePasses(range(len(tasks)), plan.options.patience)
    looks: dict[int, LiveLook] = {}
    while turn := passes.next(time.monotonic()):
        time.sleep(turn.pause)
        due = sorted(turn.due)
        for number, seen in zip(due, _looks(pool, plan, [tasks[number] for number in due]), strict=True):
            looks[number] = seen
            passes.note(number, moved=bool(seen.moved), troubles=seen.troubles)
            progress(tasks[number].bytes if turn.number == 1 else 0)
    rows = [row for number in looks for row in rows_of(looks[number], passes.reads[number])]
    judged = [seen.judged for seen in looks.values() if seen.judged is not None]
    findings = tuple(finding for finding in plan.findings if not _is_there_by_now(finding, plan))
    partitions = {number: task.partition for number, task in enumerate(tasks) if task.partition is not None}
    reading = reading_of(partitions, plan.options.patience, passes, looks)
    return LocalAudit(replace(plan, findings=findings), rows, judged, Stranded(), reading)


def _looks(pool: WorkerPool, plan: AuditPlan, tasks: Sequence[LiveTask]) -> Iterator[LiveLook]:
    for task, seen in zip(tasks, pool.outcomes(look, ((task, plan.new_examiner) for task in tasks)), strict=True):
        if not isinstance(seen, WorkerDiedError):
            yield seen
        elif seen.status == -signal.SIGBUS:
            yield cut_off(task)
        else:
            raise seen


def rows_of(seen: LiveLook, reads: int) -> Iterator[Row]:
    """Give the rows of a look, with what has moved as findings."""
    for job, row in seen.rows.items():
        yield {**row, "findings": [_moved(job, seen.moved[job], reads).as_json()]} if job in seen.moved else row


def _moved(job: Job, how: str, reads: int) -> ReplicaFinding:
    what = "what this copy holds is unknown" if job.copy else "the root's own files were not checked"
    message = (
        f"{how} (read {'once' if reads == 1 else f'{reads:,} times'}): {what}; audit again with more patience "
        "(--patience) or while less is written, or audit a snapshot"
    )
    report = Reporter(job.copy.topic_partition if job.copy else None)
    return ReplicaFinding(job.replica, report.warning(MOVED, message, file=None))


def _is_there_by_now(finding: ReplicaFinding, plan: AuditPlan) -> bool:
    """Whether a partition that was nowhere when the snapshots were listed was only just being made."""
    topic, partition = finding.finding.topic, finding.finding.partition
    if finding.finding.kind != NOWHERE or topic is None or partition is None:
        return False
    directory = str(TopicPartition(topic, partition))
    return any(root.storage.child(directory).path.exists() for snapshot in plan.snapshots for root in snapshot.roots)


def reading_of(
    partitions: Mapping[int, TopicPartition], patience: float, passes: LivePasses, looks: Mapping[int, LiveLook]
) -> LiveReading:
    """Return how it went, of the tasks that are partitions, by their numbers."""
    return LiveReading(
        passes=passes.number,
        patience=patience,
        read_again=sorted(
            ReadAgain(*partition, passes.reads[number], tuple(sorted(job.replica for job in looks[number].moved)))
            for number, partition in partitions.items()
            if passes.reads[number] > 1 or looks[number].moved
        ),
        gone=sorted(partition for number, partition in partitions.items() if looks[number].is_gone),
    )
