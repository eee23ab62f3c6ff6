"""What is looked at at one moment: all copies of a partition, or a root's own files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logstore.topic_partition import TopicPartition
from replication.copies.audit.pipeline.audit_plan import AuditPlan
from replication.copies.audit.snapshots.registered import Registered
from replication.copies.audit.snapshots.snapshot import Root, Snapshot
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy, Job, Task


@dataclass(frozen=True, slots=True)
class LiveTask:
    """A task of an audit of running brokers, with the places where a copy may turn up."""

    listed: Task
    """The copies that were there when the snapshots were listed; or the root, which is no copy."""
    absent: Task = ()
    """Where there was none."""
    missing: tuple[str, ...] = ()
    """The replicas that should have a copy and have none."""
    registered: Registered | None = None
    """What the cluster's metadata says of the partition."""

    @property
    def partition(self) -> TopicPartition | None:
        """The partition that is looked at; None for a root."""
        copy = self.listed[0].copy
        return copy.topic_partition if copy else None

    @property
    def bytes(self) -> int:
        """Bytes of log when it was listed."""
        return sum(job.bytes for job in self.listed)


def place_of(job: Job) -> Storage:
    """Return the directory that a job reads: of a copy, or a root."""
    return Storage(job.root).child(job.copy.directory) if job.copy else Storage(job.root)


def live_tasks(plan: AuditPlan) -> Iterator[LiveTask]:
    """Complete the tasks of a plan, each of which is a partition or a root."""
    for task in plan.tasks:
        partition = LiveTask(task).partition
        if partition is None:
            yield LiveTask(task)
        else:
            absent = tuple(_absent(plan.snapshots, task, partition))
            yield LiveTask(task, absent, plan.missing.get(partition, ()), plan.registered.get(partition))


def _absent(snapshots: Sequence[Snapshot], task: Task, partition: TopicPartition) -> Iterator[Job]:
    """Name the roots without a copy."""
    holding = {job.root for job in task}
    for snapshot in snapshots:
        for root in snapshot.roots:
            if root.storage.uri not in holding:
                name = _name(snapshot, root, holding)
                broker = "" if name == snapshot.name else snapshot.name
                copy = Copy(name, root.storage.uri, str(partition), partition, (), broker=broker)
                yield Job(copy.replica, copy.root, copy)


def _name(snapshot: Snapshot, root: Root, holding: set[str]) -> str:
    """Name a copy that turns up here: by its disk too, where another disk of the broker has one."""
    has_other = any(each.storage.uri in holding for each in snapshot.roots)
    return f"{snapshot.name}/{root.storage.name}" if has_other else snapshot.name
