"""What changes in a partition, beyond the changes recorded of Kafka (`test_cases.py`)."""

from uuid import UUID

import pytest

from replication.controller.partition_change import ChangedFields, Election, Target, partition_change
from replication.controller.rules import Rules
from replication.metadata.metadata_version import MetadataVersion
from replication.metadata.partition import LeaderRecoveryState, PartitionRegistration

DIRECTORY, OTHER = UUID(int=5), UUID(int=6)
BEFORE_3_6 = Rules(MetadataVersion.V3_5_IV2)


def partition(**fields: object) -> PartitionRegistration:
    known = {
        "replicas": (1, 2, 3),
        "directories": (DIRECTORY,) * 3,
        "isr": (1, 2, 3),
        "removing_replicas": (),
        "adding_replicas": (),
        "elr": (),
        "last_known_elr": (),
        "leader": 1,
        "leader_recovery_state": LeaderRecoveryState.RECOVERED,
        "leader_epoch": 4,
        "partition_epoch": 9,
    }
    return PartitionRegistration(**{**known, **fields})  # type: ignore[arg-type]


def change(
    before: PartitionRegistration,
    target: Target,
    *,
    rules: Rules = BEFORE_3_6,
    active: tuple[int, ...] = (1, 2, 3, 4),
    election: Election = Election.ONLINE,
    min_isr: int = 1,
) -> ChangedFields:
    return partition_change(
        before,
        active.__contains__,
        target=target,
        election=election,
        rules=rules,
        min_isr=min_isr,
        default_directory=lambda _: OTHER,
    )


@pytest.mark.parametrize(
    ("isr", "bumped"), [((2, 1), True), ((3, 2, 1), False), ((1, 2, 3, 4), False)], ids=["shrunk", "reordered", "grown"]
)
def test_before_3_6_only_an_isr_that_loses_a_member_raises_the_leader_epoch(isr: tuple[int, ...], bumped: bool) -> None:
    changed = change(partition(), Target(isr=isr))
    assert changed == {"isr": isr} | ({"leader": 1} if bumped else {})


def test_since_3_6_an_isr_that_loses_a_member_raises_no_leader_epoch() -> None:
    assert change(partition(), Target(isr=(1, 2)), rules=Rules()) == {"isr": (1, 2)}


@pytest.mark.parametrize("replicas", [(3, 2, 1), (1, 2, 3, 4)], ids=["reordered", "grown"])
def test_replicas_of_which_none_leaves_raise_no_leader_epoch(replicas: tuple[int, ...]) -> None:
    assert "leader" not in change(partition(), Target(replicas=replicas))


def test_a_replica_that_leaves_raises_the_leader_epoch_and_the_others_keep_their_directories() -> None:
    changed = change(partition(), Target(isr=(1, 2), replicas=(1, 2, 4)), rules=Rules())
    assert changed == {"isr": (1, 2), "leader": 1, "replicas": (1, 2, 4), "directories": (DIRECTORY, DIRECTORY, OTHER)}
