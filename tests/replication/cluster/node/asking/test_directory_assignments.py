"""What the controller is told of directories: until it has noted it, and what it refuses is said once."""

from dataclasses import replace
from uuid import UUID

import pytest

from replication.cluster.broker.events.trouble_events import TroubleBegan, TroubleEnded, TroubleEvent
from replication.cluster.node.asking.directory_assignments import DirectoryAssignments
from replication.records.metadata.image_changes import PartitionId
from replication.wire.error_code import ErrorCode
from replication.wire.messages.assign_replicas_to_dirs import (
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
        self.told: list[TroubleEvent] = []
        self.assignments = DirectoryAssignments(BROKER, self.unassigned, self.told.append)

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


def test_what_is_refused_is_told_once_for_each_error_and_when_it_is_over(broker: Broker) -> None:
    for error in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NOT_LEADER_OR_FOLLOWER) * 2:
        assert not broker.take(answer(broker.ask(), {FIRST: error, SECOND: error}))
    unknown, elsewhere = broker.told
    assert isinstance(unknown, TroubleBegan)
    assert "partition 0 of the topic with the id" in unknown.why
    assert unknown.why.endswith("UNKNOWN_TOPIC_ID")
    assert isinstance(elsewhere, TroubleBegan)
    assert elsewhere.why.endswith("NOT_LEADER_OR_FOLLOWER")
    assert broker.take(answer(broker.ask()))
    assert [type(each) for each in broker.told[2:]] == [TroubleEnded]


def test_trouble_is_over_where_nothing_is_left_to_tell_of(broker: Broker) -> None:
    assert not broker.take(answer(broker.ask(), {FIRST: ErrorCode.UNKNOWN_TOPIC_ID}))
    del broker.unassigned[FIRST]  # its topic was deleted
    assert broker.assignments.next(EPOCH) is None
    assert [type(each) for each in broker.told] == [TroubleBegan, TroubleEnded]


def test_a_request_that_is_refused_as_a_whole_is_made_again_and_that_is_told_once(broker: Broker) -> None:
    first = broker.ask()
    for _ in range(2):
        assert not broker.take(AssignReplicasToDirsResponse(error=ErrorCode.STALE_BROKER_EPOCH))
    assert [each.why for each in broker.told if isinstance(each, TroubleBegan)] == [
        "the controller does not note in which directories replicas lie: STALE_BROKER_EPOCH"
    ]
    assert broker.ask() == first
    assert broker.take(answer(first))


def test_a_request_without_an_answer_is_made_again_and_that_is_told_once(broker: Broker) -> None:
    first = broker.ask()
    for _ in range(2):
        broker.assignments.failed("no answer")
    assert broker.ask() == first
    (told,) = broker.told
    assert isinstance(told, TroubleBegan)
    assert told.why.endswith("no answer")


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
