"""What holds for all groups together: memory, waiting, and what is said of groups that are not there."""

import sys
from typing import Any

import pytest

from logstore import TopicPartition
from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.errors import GroupRefusedError
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.groups.joining import JoinRequest
from replication.cluster.broker.groups.requests.waiting import Waiting
from replication.cluster.broker.groups.syncing import SyncRequest
from replication.records.coordinator_records.offset_commit import OffsetCommit
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.groups.sides import FakeClock

PARTITION = TopicPartition("orders", 0)


def joining(group: str, **changes: Any) -> JoinRequest:
    request = JoinRequest(group, "", 10.0, 60.0, "consumer", (("range", b"data"),))
    return request._replace(**changes)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def coordinator(clock: FakeClock) -> GroupCoordinator:
    return GroupCoordinator(GroupSettings(max_bytes=100_000), clock=clock)


def join(coordinator: GroupCoordinator, request: JoinRequest) -> ErrorCode | None:
    told = coordinator.join(request).value
    return told.error_code if told else None


def test_members_are_refused_once_there_is_no_memory_for_them(coordinator: GroupCoordinator) -> None:
    for number in range(200):
        join(coordinator, joining(f"group-{number}"))
    assert join(coordinator, joining("one-more")) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert coordinator.size <= 100_000
    assert 10 < len(coordinator.groups()) < 50


def test_a_member_that_brings_too_much_is_refused(coordinator: GroupCoordinator) -> None:
    big = joining("big", protocols=(("range", bytes(100_000)),))
    assert join(coordinator, big) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not coordinator.groups()


def test_groups_that_nobody_misses_are_forgotten_for_others(coordinator: GroupCoordinator, clock: FakeClock) -> None:
    coordinator.commit("kept", {PARTITION: OffsetCommit(offset=1)})
    for number in range(200):
        join(coordinator, joining(f"group-{number}"))
    clock.now += 1_000
    assert join(coordinator, joining("one-more")) is None
    assert [each.group_id for each in coordinator.groups()] == ["kept", "one-more"]


def test_offsets_are_refused_once_there_is_no_memory_for_them(coordinator: GroupCoordinator) -> None:
    for number in range(1_000):
        coordinator.commit("group", {TopicPartition("orders", number): OffsetCommit(offset=1)})
    errors = coordinator.commit("group", {TopicPartition("orders", 1_000): OffsetCommit(offset=1)})
    assert set(errors.values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert 10 < len(coordinator.committed("group")) < 300


def test_commits_in_place_of_others_take_no_more_memory(coordinator: GroupCoordinator) -> None:
    for number in range(1_000):
        errors = coordinator.commit("group", {PARTITION: OffsetCommit(offset=number, metadata="note")})
        assert errors == {PARTITION: ErrorCode.NONE}
    assert coordinator.committed("group")[PARTITION].offset == 999


def test_who_waits_is_woken_by_the_answer_and_needs_no_other_member_for_it(
    coordinator: GroupCoordinator, clock: FakeClock
) -> None:
    waiting = Waiting(coordinator, "group", coordinator.join(joining("group")), lambda told: told)
    waiter = ThreadWaiter()
    waiting.attend(waiter)
    assert waiting.answer() is None
    assert waiting.expire() is None
    assert not waiter.wait(0)
    clock.now = waiting.deadline
    told = waiting.expire()
    assert told is not None
    assert told.error_code is ErrorCode.NONE
    assert waiter.wait(0)
    waiting.leave(waiter)


def test_who_waits_is_woken_where_something_will_happen_sooner(coordinator: GroupCoordinator, clock: FakeClock) -> None:
    first = joining("group", instance_id="a", session_timeout=100.0)
    coordinator.join(first)
    coordinator.join(first._replace(instance_id="b"))
    clock.now += 6
    coordinator.expire("group")
    member = coordinator.describe("group").members[0]
    again = first._replace(member_id=member.member_id, protocols=(("range", b"changed"),))
    waiting = Waiting(coordinator, "group", coordinator.join(again), lambda told: told)
    waiter = ThreadWaiter()
    waiting.attend(waiter)
    later = waiting.deadline
    coordinator.join(joining("group", asks_for_id=True))
    assert waiter.wait(0)
    assert waiting.answer() is None
    assert waiting.deadline < later


def test_a_member_that_asks_again_takes_the_place_of_who_waited_in_its_name(
    coordinator: GroupCoordinator, clock: FakeClock
) -> None:
    asked = coordinator.join(joining("group", asks_for_id=True)).value
    assert asked is not None
    again = joining("group", member_id=asked.member_id)
    first, second = coordinator.join(again), coordinator.join(again)
    assert first.value is not None
    assert first.value.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    clock.now += 3
    coordinator.expire("group")
    assert second.value is not None
    assert second.value.error_code is ErrorCode.NONE


@pytest.mark.parametrize("group", ["", "none"])
def test_a_group_that_is_not_there_has_no_members(coordinator: GroupCoordinator, group: str) -> None:
    expected = ErrorCode.UNKNOWN_MEMBER_ID if group else ErrorCode.INVALID_GROUP_ID
    assert join(coordinator, joining(group, member_id="m")) is expected
    synchronised = coordinator.sync(SyncRequest(group, 1, "m")).value
    assert synchronised is not None
    assert synchronised.error_code is expected
    assert coordinator.heartbeat(group, 1, "m", None) is expected
    if group:
        assert coordinator.leave(group, [("m", None), ("n", None)]) == [expected] * 2
    else:
        with pytest.raises(GroupRefusedError):
            coordinator.leave(group, [("m", None)])


def test_nobody_commits_as_a_member_of_a_group_that_is_not_there(coordinator: GroupCoordinator) -> None:
    errors = coordinator.commit("none", {PARTITION: OffsetCommit(offset=1)}, generation=1, member_id="m")
    assert errors == {PARTITION: ErrorCode.GROUP_ID_NOT_FOUND}
    assert not coordinator.groups()


def test_a_deleted_group_is_gone_with_what_it_had_committed_and_its_memory(coordinator: GroupCoordinator) -> None:
    coordinator.commit("group", {PARTITION: OffsetCommit(offset=5, metadata="note")})
    assert coordinator.delete("group") is ErrorCode.NONE
    assert coordinator.size == 0
    assert coordinator.groups() == []
    assert not coordinator.committed("group")
    assert coordinator.delete("group") is ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_are_deleted_with_their_memory(coordinator: GroupCoordinator) -> None:
    other = TopicPartition("orders", 1)
    coordinator.commit("group", {PARTITION: OffsetCommit(offset=5)})
    before = coordinator.size
    coordinator.commit("group", {other: OffsetCommit(offset=6, metadata="note")})
    assert coordinator.delete_offsets("group", [other]) == {other: ErrorCode.NONE}
    assert coordinator.size == before
    assert list(coordinator.committed("group")) == [PARTITION]


def test_a_group_with_members_stays(coordinator: GroupCoordinator) -> None:
    join(coordinator, joining("group"))
    assert coordinator.delete("group") is ErrorCode.NON_EMPTY_GROUP
    assert [each.group_id for each in coordinator.groups()] == ["group"]


def test_groups_that_another_broker_coordinates_are_forgotten_and_who_waits_there_looks_for_it(
    coordinator: GroupCoordinator,
) -> None:
    coordinator.commit("kept", {PARTITION: OffsetCommit(offset=1)})
    before = coordinator.size
    waiting = coordinator.join(joining("gone"))
    assert waiting.value is None
    coordinator.forget(lambda group_id: group_id == "gone")
    told = waiting.value
    assert told is not None
    assert told.error_code is ErrorCode.NOT_COORDINATOR
    assert [each.group_id for each in coordinator.groups()] == ["kept"]
    assert coordinator.size == before


def calls_of_joining(members: int) -> int:
    """How many calls it takes until so many have joined one group, and the last of them has its assignment."""
    clock = FakeClock()
    coordinator = GroupCoordinator(clock=clock)
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        waiting = [coordinator.join(joining("group")) for _ in range(members)]
        for _ in waiting:
            clock.now += 0.001
            coordinator.deadline("group")
            coordinator.expire("group")
        clock.now += 100
        coordinator.expire("group")
        told = [each.value for each in waiting]
        for answer in told:
            assert answer is not None
            coordinator.heartbeat("group", answer.generation_id, answer.member_id, None)
    finally:
        sys.setprofile(None)
    return calls


def test_a_member_more_takes_no_longer_the_more_there_are() -> None:
    few, many = calls_of_joining(200), calls_of_joining(1_600)
    assert many < 10 * few


def test_the_names_of_protocols_count_as_memory_however_short_they_are(coordinator: GroupCoordinator) -> None:
    assert join(coordinator, joining("big", protocols=(("", b""),) * 1_000)) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_while_memory_is_short_groups_are_not_looked_through_for_each_request(
    coordinator: GroupCoordinator,
) -> None:
    for number in range(200):
        join(coordinator, joining(f"group-{number}"))
    looks: list[Any] = []
    coordinator._advance = looks.append  # type: ignore[method-assign]
    for number in range(200):
        assert join(coordinator, joining(f"other-{number}")) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(looks) <= len(coordinator._groups)


def test_the_first_that_waits_looks_first_when_time_is_up(coordinator: GroupCoordinator) -> None:
    waiting = [Waiting(coordinator, "group", coordinator.join(joining("group")), lambda told: told) for _ in range(3)]
    deadlines = [each.deadline for each in waiting]
    assert deadlines[0] == coordinator.deadline("group")
    assert deadlines == sorted(set(deadlines))
