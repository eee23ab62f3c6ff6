"""What changes in a partition, beyond the changes recorded of Kafka (`test_cases.py`)."""

from uuid import UUID

import pytest

from replication.records.leadership.partition_change import (
    CannotPlaceError,
    ChangedFields,
    Election,
    Target,
    partition_change,
)
from replication.records.leadership.rules import Rules
from replication.records.metadata.metadata_version import MetadataVersion
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration

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


def test_a_replica_without_a_directory_is_not_placed() -> None:
    with pytest.raises(CannotPlaceError, match="no default directory is known for broker 4"):
        partition_change(partition(), (1, 2, 3, 4).__contains__, target=Target(replicas=(1, 2, 3, 4)))


def test_where_no_directories_were_known_all_are_placed() -> None:
    before = partition(directories=())
    changed = change(before, Target(replicas=(1, 2, 3, 4)), rules=Rules())
    assert changed == {"replicas": (1, 2, 3, 4), "directories": (OTHER,) * 4}


@pytest.mark.parametrize(
    ("adding", "isr", "completes"),
    [
        ((4,), (1, 3, 4), True),
        ((4,), (1, 2, 3), False),
        ((), (1, 3), False),
        ((), (1, 2, 3), True),
        ((4,), (3,), False),
    ],
    ids=["one for one", "not in sync yet", "fewer, one lags", "fewer", "nobody would be in sync"],
)
def test_a_reassignment_is_complete_once_what_joins_is_in_sync(
    adding: tuple[int, ...], isr: tuple[int, ...], *, completes: bool
) -> None:
    replicas = (1, 2, 3, *adding)
    before = partition(
        replicas=replicas,
        removing_replicas=(3,),
        adding_replicas=adding,
        isr=(3,),
        directories=(DIRECTORY,) * len(replicas),
    )
    changed = change(before, Target(isr=isr), rules=Rules())
    assert (changed.get("replicas") == (1, 2, *adding)) is completes


@pytest.mark.parametrize(("version", "told"), [(MetadataVersion.V3_1_IV0, False), (MetadataVersion.V3_2_IV0, True)])
def test_since_3_2_a_partition_says_that_its_leader_may_lack_records(version: MetadataVersion, *, told: bool) -> None:
    changed = change(
        partition(isr=(3,), leader=-1), Target(), rules=Rules(version), active=(1, 2), election=Election.UNCLEAN
    )
    assert (changed["leader"], changed["isr"]) == (1, (1,))
    assert ("leader_recovery_state" in changed) is told


def test_who_led_last_is_not_elected_while_somebody_else_is_in_sync() -> None:
    before = partition(isr=(2,), leader=-1, last_known_elr=(3,))
    assert change(before, Target(), rules=Rules(elr=True), active=(3,)) == {}


def test_replicas_that_may_have_lost_records_can_be_remembered_as_the_last_that_were_eligible() -> None:
    rules = Rules(elr=True, last_known_leader=False)
    changed = change(partition(), Target(isr=(1,), unclean_shutdown={3}), rules=rules, min_isr=3)
    assert changed == {"isr": (1,), "eligible_leader_replicas": (2,), "last_known_elr": (3,)}
