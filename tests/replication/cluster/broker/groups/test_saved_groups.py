"""What a coordinator knows of the groups that a broker has kept."""

from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pytest

from logstore import FrozenLog, Log, TopicPartition
from logstore.batch.record import Record
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.groups.group_state import GroupState
from replication.cluster.broker.groups.joining import JoinRequest
from replication.cluster.broker.groups.saved_groups import SavedGroups
from replication.records.coordinator_records.offset_commit import OffsetCommit
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.groups.sides import FakeClock
from tests.replication.records.coordinator_records.test_group_metadata import KEY, group

KEPT = Path(__file__).parents[4] / "data/consumer-offsets/__consumer_offsets-0"
COMMITTED = {
    "billing": {TopicPartition("diverge", 0): 410},
    "report": {TopicPartition("diverge", 0): 250},
    "mail": {TopicPartition("hwloss", 0): 302},
    "ledger": {TopicPartition("diverge", 0): 333},
}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "__consumer_offsets-0", replicated=True) as log:
        yield log


def offset_key(partition: int) -> bytes:
    return pack(">hh", 1, 4) + b"mail" + pack(">h", 6) + b"orders" + pack(">i", partition)


def offset(value: int) -> bytes:
    return pack(">hqi", 3, value, 2) + pack(">h", 4) + b"note" + pack(">q", 1_700)


def saved_in(log: Log, *records: tuple[bytes, bytes | None]) -> SavedGroups:
    log.append([Record(-1, 0, key, value) for key, value in records], leader_epoch=0)
    return SavedGroups.of([log])


def offsets_in(saved: SavedGroups, name: str = "mail") -> dict[int, int]:
    return {place.partition: commit.offset for place, commit in saved.offsets[name].items()}


def test_a_broker_s_own_partition_tells_what_each_group_committed() -> None:
    with FrozenLog.open(KEPT) as log:
        saved = SavedGroups.of([log])
    found = {name: {place: each.offset for place, each in offsets.items()} for name, offsets in saved.offsets.items()}
    assert {name: offsets for name, offsets in found.items() if offsets} == COMMITTED


def test_the_last_commit_counts_and_a_withdrawn_one_does_not(log: Log) -> None:
    saved = saved_in(
        log, (offset_key(0), offset(1)), (offset_key(1), offset(5)), (offset_key(0), offset(9)), (offset_key(1), None)
    )
    assert offsets_in(saved) == {0: 9}
    (commit,) = saved.offsets["mail"].values()
    assert (commit.leader_epoch, commit.metadata, commit.commit_timestamp) == (2, "note", 1_700)


def test_a_deleted_group_is_gone(log: Log) -> None:
    saved = saved_in(log, (offset_key(0), offset(1)), (KEY, group(3)), (offset_key(0), None), (KEY, None))
    assert not saved.offsets
    assert not saved.groups


def test_records_of_other_groups_and_what_cannot_be_read_is_passed_over(log: Log) -> None:
    saved = saved_in(log, (pack(">hh", 3, 4) + b"mail", b"\0\0"), (b"", b""), (offset_key(0), b"\0\3\0"))
    assert not saved.offsets


def test_a_group_with_members_is_stable_until_they_have_not_been_heard_of(log: Log) -> None:
    clock = FakeClock()
    coordinator = GroupCoordinator(clock=clock)
    coordinator.load(saved_in(log, (offset_key(0), offset(1)), (KEY, group(3))))
    found = coordinator.describe("mail")
    assert (found.state, found.protocol_type, found.protocol) == (GroupState.STABLE, "consumer", "range")
    assert [(each.member_id, each.member_metadata, each.member_assignment) for each in found.members] == [
        ("m-1", b"sub", b"as")
    ]
    assert coordinator.heartbeat("mail", 7, "m-1", "here") is ErrorCode.NONE
    clock.now += 46
    assert coordinator.describe("mail").state is GroupState.EMPTY
    assert coordinator.committed("mail")[TopicPartition("orders", 0)].offset == 1


def test_without_its_members_a_group_is_empty_and_whoever_joins_begins_the_next_generation_at_once(log: Log) -> None:
    coordinator = GroupCoordinator(GroupSettings(initial_rebalance_delay=0.0), clock=FakeClock())
    coordinator.load(saved_in(log, (offset_key(0), offset(1)), (KEY, group(3))).without_members())
    found = coordinator.describe("mail")
    assert (found.state, found.protocol_type, found.members) == (GroupState.EMPTY, "consumer", ())
    assert coordinator.committed("mail")[TopicPartition("orders", 0)].offset == 1
    assert coordinator.heartbeat("mail", 7, "m-1", "here") is ErrorCode.UNKNOWN_MEMBER_ID
    commits = {TopicPartition("orders", 0): OffsetCommit(offset=2)}
    assert coordinator.commit("mail", commits) == {TopicPartition("orders", 0): ErrorCode.NONE}
    joined = coordinator.join(JoinRequest("mail", "", 10.0, 60.0, "consumer", (("range", b"sub"),)))
    coordinator.expire("mail")
    answer = joined.value
    assert answer is not None
    assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, 8)


def test_a_group_that_has_only_committed_is_empty(log: Log) -> None:
    coordinator = GroupCoordinator()
    coordinator.load(saved_in(log, (offset_key(0), offset(1))))
    assert [(each.group_id, each.state) for each in coordinator.groups()] == [("mail", GroupState.EMPTY)]
