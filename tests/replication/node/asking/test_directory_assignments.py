"""What the controller is told of directories: until it has noted it, and what it refuses is said once."""

from dataclasses import replace
from uuid import UUID

import pytest

from replication.metadata.image_changes import PartitionId
from replication.node.asking.directory_assignments import DirectoryAssignments
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    PlacementAnswer,
)

BROKER, EPOCH, TOPIC = 1, 20, UUID(int=7_000)
DISK, OTHER_DISK = UUID(int=1_001), UUID(int=1_002)
FIRST, SECOND = PartitionId(TOPIC, 0), PartitionId(TOPIC, 1)
MOST_IN_ONE_REQUEST = 2_250


class Broker:
    """Two replicas on one disk, which the metadata has nowhere."""

    def __init__(self) -> None:
        self.unassigned = {FIRST: DISK, SECOND: DISK}
        self.assignments = DirectoryAssignments(BROKER, self.unassigned)

    def ask(self) -> AssignReplicasToDirsRequest:
        request = self.assignments.next(EPOCH)
        assert request is not None
        assert (request.broker_id, request.broker_epoch) == (BROKER, EPOCH)
        return request

    def take(self, response: AssignReplicasToDirsResponse) -> bool:
        return self.assignments.answered(response, may_arrive_late=False)


@pytest.fixture
def broker() -> Broker:
    return Broker()


def answer(
    request: AssignReplicasToDirsRequest, errors: dict[PartitionId, ErrorCode | None] | None = None
) -> AssignReplicasToDirsResponse:
    """Return an answer with these errors; None where it does not speak of a partition."""
    told = [(each, (errors or {}).get(PartitionId(*each[1:]), ErrorCode.NONE)) for each in request.replicas]
    return AssignReplicasToDirsResponse(
        answers=tuple(PlacementAnswer(*each, error) for each, error in told if error is not None)
    )


def test_what_the_controller_has_noted_is_not_told_again(broker: Broker) -> None:
    request = broker.ask()
    assert {PartitionId(*each[1:]) for each in request.replicas} == {FIRST, SECOND}
    assert broker.take(answer(request))
    assert broker.assignments.next(EPOCH) is None
    assert broker.unassigned == {}


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NOT_LEADER_OR_FOLLOWER, None])
def test_what_was_refused_is_told_again_and_nothing_else(broker: Broker, error: ErrorCode | None) -> None:
    assert not broker.take(answer(broker.ask(), {SECOND: error}))
    again = broker.ask()
    assert [PartitionId(*each[1:]) for each in again.replicas] == [SECOND]
    assert broker.take(answer(again))


def test_what_is_refused_is_logged_once_until_that_changes(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    def refused(error: ErrorCode) -> str:
        caplog.clear()
        broker.take(answer(broker.ask(), {SECOND: error}))
        return caplog.text

    first = refused(ErrorCode.UNKNOWN_TOPIC_ID)
    assert first.count("\n") == 1
    assert "partition 1 of the topic with the id" in first
    assert "UNKNOWN_TOPIC_ID" in first
    assert refused(ErrorCode.UNKNOWN_TOPIC_ID) == ""
    assert "NOT_LEADER_OR_FOLLOWER" in refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_a_request_that_is_refused_as_a_whole_is_made_again_and_that_is_logged_once(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    first = broker.ask()
    for _ in range(2):
        assert not broker.take(AssignReplicasToDirsResponse(error=ErrorCode.STALE_BROKER_EPOCH))
    assert caplog.text.count("STALE_BROKER_EPOCH") == 1
    assert broker.ask() == first
    assert broker.take(answer(first))


def test_a_request_without_an_answer_is_made_again(broker: Broker) -> None:
    first = broker.ask()
    broker.assignments.failed("no answer")
    assert broker.ask() == first


def test_what_lies_elsewhere_by_the_time_of_the_answer_is_told_again(broker: Broker) -> None:
    request = broker.ask()
    broker.unassigned[FIRST] = OTHER_DISK
    assert broker.take(answer(request)), "nothing is refused, so that it is told at once"
    assert broker.unassigned == {FIRST: OTHER_DISK}


def test_one_request_has_no_more_than_kafkas_controllers_expect(broker: Broker) -> None:
    broker.unassigned.clear()
    for number in range(MOST_IN_ONE_REQUEST + 1):
        broker.unassigned[PartitionId(TOPIC, number)] = (DISK, OTHER_DISK)[number % 2]
    request = broker.ask()
    assert len(request.replicas) == MOST_IN_ONE_REQUEST
    directories = [each.directory_id for each in request.replicas]
    assert directories == sorted(directories), "each directory is named once"
    assert broker.take(answer(request)), "the rest is told at once"
    last = broker.ask()
    assert len(last.replicas) == 1
    assert broker.take(answer(replace(last)))
