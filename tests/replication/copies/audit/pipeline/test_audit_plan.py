"""A plan says what is examined, and what is missing, before anything is read."""

from pathlib import Path

import pytest

from replication.base.errors import NotAllowedError
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.copies.audit.pipeline.audit_plan import AuditPlan, plan_audit
from replication.copies.audit.snapshots.snapshot import Root, Snapshot
from replication.copies.audit.snapshots.storage import Storage
from tests.data.replicas import damaged, replicas
from tests.replication.copies.audit.snapshot_roots import batches, write_root


def place_of(kind: str, scratch: Path) -> Path:
    if kind in {"diverged", "healed"}:
        return replicas(kind)
    damaged(kind, scratch)
    return scratch


def told(plan: AuditPlan, topic: str) -> tuple[object, ...]:
    missing = {partition: who for partition, who in plan.missing.items() if partition.topic == topic}
    return missing, [each for each in plan.findings if each.finding.topic == topic]


@pytest.mark.parametrize("kind", ["diverged", "healed", "missing_partition_dir"])
def test_what_a_topic_lacks_does_not_depend_on_which_others_are_chosen(kind: str, tmp_path: Path) -> None:
    place = place_of(kind, tmp_path)
    whole = plan_audit([place], AuditOptions())
    topics = {copy.topic_partition.topic for copy in whole.copies}

    for topic in topics:
        alone = plan_audit([place], AuditOptions(topics=(topic,)))
        assert told(alone, topic) == told(whole, topic)
        assert {partition.topic for partition in alone.missing} <= {topic}
    assert len(topics) > 1
    assert bool(whole.missing) == (kind == "missing_partition_dir")


def test_a_broker_that_holds_nothing_lacks_the_topics_that_are_chosen(tmp_path: Path) -> None:
    held = {"t-0": batches(1), "u-0": batches(1)}
    roots = [write_root(tmp_path / f"broker-{node}", held if node < 3 else {}, node=node) for node in (1, 2, 3)]

    plan = plan_audit(roots, AuditOptions(topics=("t",)))

    assert [(str(partition), who) for partition, who in plan.missing.items()] == [("t-0", ("broker-3",))]


def test_running_brokers_are_audited_partition_by_partition(tmp_path: Path) -> None:
    held = {"t-0": batches(1), "t-1": batches(30), "u-0": batches(10)}
    roots = [write_root(tmp_path / f"broker-{node}", held, node=node) for node in (1, 2)]

    plan = plan_audit(roots, AuditOptions(live=True))

    names = [
        [f"{job.replica}: {job.copy.topic_partition if job.copy else 'root'}" for job in task] for task in plan.tasks
    ]
    partitions = [[f"broker-{node}: {name}" for node in (1, 2)] for name in ("t-1", "u-0", "t-0")]
    assert names == [*partitions, ["broker-1: root"], ["broker-2: root"]]
    assert not any(job.ranges for task in plan.tasks for job in task)


def test_no_broker_writes_to_an_object_store() -> None:
    files = {"t-0": {"00000000000000000000.log": 1}}
    found = [Snapshot(name, (Root(Storage(f"s3://backups/{name}"), files),)) for name in ("broker-1", "broker-2")]
    named = [root.storage.uri for snapshot in found for root in snapshot.roots]

    assert len(plan_audit(named, AuditOptions(), found).copies) == 2
    with pytest.raises(NotAllowedError) as raised:
        plan_audit(named, AuditOptions(live=True), found)
    assert str(raised.value) == (
        "live cannot be True; allowed: False, as s3://backups/broker-1 is no directory of this machine"
    )
