"""Changes that Kafka's PartitionChangeBuilder 4.3.1 made of partitions, and 3.0.2 beside it."""

from functools import partial
from typing import Any

from replication.cluster.controller.topics.reassignments import cancel_target, start_target
from replication.records.leadership.partition_change import ChangedFields, Election, Target, partition_change
from replication.records.leadership.rules import Rules
from replication.records.metadata.metadata_version import MetadataVersion
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration
from replication.records.metadata.records import MIGRATING_DIRECTORY, NO_LEADER_CHANGE, PartitionChangeRecord
from tests.replication.cluster.controller.case import Case, Cases, Document, only
from tests.replication.cluster.controller.cases.partition_change_3_0 import partition_change_3_0

NAMES = {"eligible_leader_replicas": "elr"}
SETS = {"elr", "last_known_elr"}


def cases(document: Document) -> Cases:
    only(document, "source", "latest_metadata_version", "cases")
    for case in document["cases"]:
        yield Case(case["id"], partial(check, case))


def check(case: Document) -> None:
    only(case, "id", "group", "why", "input", "derived", "expected", "kafka_3_0")
    partition, target = partition_of(case["input"]["partition"]), target_of(case["input"]["target"])
    if "derived" in case:
        check_derived(case["derived"], partition, target)
    check_change(case, partition, target)
    if "kafka_3_0" in case:
        check_3_0(case, partition, target)


def check_change(case: Document, partition: PartitionRegistration, target: Target) -> None:
    given, expected = case["input"], case["expected"]
    only(
        given,
        *("partition", "active_brokers", "election", "target"),
        *("metadata_version", "elr_enabled", "min_isr", "use_last_known_leader"),
    )
    only(expected, "changed", "record", "after", "leader_epoch_delta", "partition_epoch_delta")
    changed = partition_change(
        partition,
        given["active_brokers"].__contains__,
        target=target,
        election=Election[given["election"]],
        rules=rules_of(given),
        min_isr=given["min_isr"],
        default_directory=lambda _: MIGRATING_DIRECTORY,
    )
    after = merged(partition, changed)
    assert bool(changed) == expected["changed"]
    assert told(changed) == comparable(expected["record"] or {})
    assert state(after) == comparable(expected["after"])
    assert after.leader_epoch - partition.leader_epoch == expected["leader_epoch_delta"]
    assert after.partition_epoch - partition.partition_epoch == expected["partition_epoch_delta"]


def check_3_0(case: Document, partition: PartitionRegistration, target: Target) -> None:
    given, expected = case["input"], case["kafka_3_0"]
    changed = partition_change_3_0(
        partition, given["active_brokers"].__contains__, target=target, election=Election[given["election"]]
    )
    after = merged(partition, changed)
    if expected == "same":
        then = {**case["expected"], **case["expected"]["after"]}
    else:
        only(
            expected,
            *("differs_in", "changed", "record", "leader", "isr", "replicas"),
            *("leader_epoch_delta", "partition_epoch_delta"),
        )
        then = expected
        assert bool(changed) == expected["changed"]
        assert told(changed) == comparable(expected["record"] or {})
    assert after.leader == then["leader"]
    assert after.isr == tuple(then["isr"])
    assert after.replicas == tuple(then["replicas"])
    assert after.leader_epoch - partition.leader_epoch == then["leader_epoch_delta"]
    assert after.partition_epoch - partition.partition_epoch == then["partition_epoch_delta"]


def check_derived(derived: Document, partition: PartitionRegistration, target: Target) -> None:
    if derived.get("cancel"):
        only(derived, "cancel", "revert_replicas", "revert_isr", "revert_unclean")
        reversal = cancel_target(partition)
        assert reversal.target.replicas == tuple(derived["revert_replicas"])
        assert reversal.target.isr == tuple(derived["revert_isr"])
        assert reversal.unclean == derived["revert_unclean"]
        assert reversal.target == target
        return
    only(derived, "cancel", "requested_replicas", "replicas", "adding_replicas", "removing_replicas")
    start = start_target(partition, tuple(derived["requested_replicas"]))
    assert start.replicas == tuple(derived["replicas"])
    assert (start.adding_replicas or ()) == tuple(derived["adding_replicas"])
    assert (start.removing_replicas or ()) == tuple(derived["removing_replicas"])


def rules_of(given: Document) -> Rules:
    return Rules(
        level(given["metadata_version"]),
        elr=given["elr_enabled"],
        last_known_leader=given.get("use_last_known_leader", True),
        keep_reassigned_eligible=True,
    )


def level(name: str) -> MetadataVersion:
    return MetadataVersion[f"V{name.replace('.', '_').replace('-', '_')}"]


def partition_of(given: Document) -> PartitionRegistration:
    only(
        given,
        *("replicas", "isr", "removing_replicas", "adding_replicas", "leader", "leader_epoch", "partition_epoch"),
        *("leader_recovery_state", "elr", "last_known_elr"),
    )
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    fields["leader_recovery_state"] = LeaderRecoveryState[given["leader_recovery_state"]]
    return PartitionRegistration(**fields, directories=(MIGRATING_DIRECTORY,) * len(given["replicas"]))


def target_of(given: Document) -> Target:
    only(
        given,
        *("isr", "replicas", "removing_replicas", "adding_replicas"),
        *("leader_recovery_state", "unclean_shutdown_replicas"),
    )
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    if "leader_recovery_state" in fields:
        fields["leader_recovery_state"] = LeaderRecoveryState[given["leader_recovery_state"]]
    if "unclean_shutdown_replicas" in fields:
        fields["unclean_shutdown"] = fields.pop("unclean_shutdown_replicas")
    return Target(**fields)


def merged(partition: PartitionRegistration, changed: ChangedFields) -> PartitionRegistration:
    if not changed:
        return partition
    return partition.changed(PartitionChangeRecord(partition_id=0, topic_id=MIGRATING_DIRECTORY, **changed))


def told(changed: ChangedFields) -> dict[str, Any]:
    fields = {NAMES.get(name, name): value for name, value in changed.items() if name != "directories"}
    assert fields.get("leader") != NO_LEADER_CHANGE
    return comparable(fields)


def state(partition: PartitionRegistration) -> dict[str, Any]:
    names = [name for name in PartitionRegistration.__slots__ if name != "directories"]
    return comparable({name: getattr(partition, name) for name in names})


def comparable(fields: Document) -> dict[str, Any]:
    return {name: _comparable(name, value) for name, value in fields.items()}


def _comparable(name: str, value: Any) -> Any:
    if name == "leader_recovery_state":
        return value if isinstance(value, str) else LeaderRecoveryState(value).name
    if isinstance(value, list | tuple):
        return set(value) if name in SETS else tuple(value)
    return value
