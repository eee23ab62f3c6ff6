"""What a broker's replicas want of the controller: asked until it is granted, and ISRs before all else."""

from typing import Any, cast
from uuid import UUID

import pytest

from logstore.log.state.waiters import ThreadWaiter
from replication.broker.lifecycle.errors import NoControllerError
from replication.broker.replicas.replica_manager import ReplicaManager
from replication.metadata.image_changes import PartitionId
from replication.node.asking_thread import AskingThread
from replication.node.isr_queue import IsrQueue
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse, IsrChange
from replication.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    PlacementAnswer,
)

BROKER, EPOCH, TOPIC = 1, 20, UUID(int=7_000)
DISK, OTHER_DISK = UUID(int=1_001), UUID(int=1_002)
FIRST, SECOND = PartitionId(TOPIC, 0), PartitionId(TOPIC, 1)


class Replicas:
    """Two, which the metadata has nowhere; none is led here."""

    def __init__(self) -> None:
        self.unassigned = {FIRST: DISK, SECOND: DISK}

    def led(self, topic_id: UUID, number: int) -> None: ...


class Controller:
    """Answers placements by its errors: of a partition, None where it does not speak of it; or does not answer."""

    address = None
    may_arrive_late = False

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.error = ErrorCode.NONE
        self.errors: dict[PartitionId, ErrorCode | None] = {}
        self.asked: list[Any] = []
        self.is_silent = False
        self.moved_meanwhile: dict[PartitionId, UUID] = {}

    def ask(self, request: Any, timeout_ms: int | None = None) -> Any:
        del timeout_ms
        self.asked.append(request)
        if isinstance(request, AlterPartitionRequest):
            return AlterPartitionResponse()
        assert isinstance(request, AssignReplicasToDirsRequest)
        assert (request.broker_id, request.broker_epoch) == (BROKER, EPOCH)
        if self.is_silent:
            raise NoControllerError("silent")
        if self.error is not ErrorCode.NONE:
            return AssignReplicasToDirsResponse(error=self.error)
        self.replicas.unassigned.update(self.moved_meanwhile)
        told = [(each, self.errors.get(PartitionId(*each[1:]), ErrorCode.NONE)) for each in request.replicas]
        answers = tuple(PlacementAnswer(*each, error) for each, error in told if error is not None)
        return AssignReplicasToDirsResponse(answers=answers)

    def close(self) -> None: ...


class Asking:
    def __init__(self) -> None:
        self.replicas = Replicas()
        self.controller = Controller(self.replicas)
        self.waiter = ThreadWaiter()
        self.queue = IsrQueue(BROKER, self.waiter)
        self.thread = AskingThread(
            self.controller,
            cast("ReplicaManager", cast("Any", self.replicas)),
            self.queue,
            self.waiter,
            broker_id=BROKER,
            broker_epoch=lambda: EPOCH,
        )

    def round(self) -> dict[PartitionId, UUID]:
        """Let it ask once; return what is still to be told."""
        self.waiter.wake()
        self.thread._step()
        return self.replicas.unassigned


@pytest.fixture
def asking() -> Asking:
    return Asking()


def test_what_the_controller_has_noted_is_not_told_again(asking: Asking) -> None:
    assert asking.round() == {}
    asking.round()
    (request,) = asking.controller.asked
    assert {PartitionId(*each[1:]) for each in request.replicas} == {FIRST, SECOND}


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NOT_LEADER_OR_FOLLOWER, None])
def test_what_was_refused_is_told_again_and_nothing_else(asking: Asking, error: ErrorCode | None) -> None:
    asking.controller.errors[SECOND] = error
    assert asking.round() == {SECOND: DISK}
    asking.controller.errors.clear()
    assert asking.round() == {}
    assert [len(request.replicas) for request in asking.controller.asked] == [2, 1]


def test_a_request_that_is_refused_as_a_whole_is_made_again(asking: Asking) -> None:
    asking.controller.error = ErrorCode.STALE_BROKER_EPOCH
    assert asking.round() == {FIRST: DISK, SECOND: DISK}
    asking.controller.error = ErrorCode.NONE
    assert asking.round() == {}


def test_what_lies_elsewhere_by_the_time_of_the_answer_is_told_again(asking: Asking) -> None:
    asking.controller.moved_meanwhile = {FIRST: OTHER_DISK}
    assert asking.round() == {FIRST: OTHER_DISK}


def test_isrs_do_not_wait_for_directories(asking: Asking) -> None:
    asking.controller.is_silent = True
    asking.queue.ask(IsrChange(TOPIC, 0, 0, 0, ()))
    assert asking.round() == {FIRST: DISK, SECOND: DISK}
    assert [type(request) for request in asking.controller.asked] == [
        AlterPartitionRequest,
        AssignReplicasToDirsRequest,
    ]
