"""Requests of brokers: registrations, heartbeats, ISRs, directories and producer ids (Kafka: ControllerApis)."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

from replication.base.clock import monotonic_ms
from replication.cluster.broker.lifecycle.controller_channel import AnswerT
from replication.cluster.controller.controller import Controller
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.isr_changes import IsrChangeAnswer
from replication.cluster.controller.refusal import Refusal
from replication.wire.error_code import ErrorCode
from replication.wire.messages import (
    allocate_producer_ids,
    alter_partition,
    assign_replicas_to_dirs,
    broker_heartbeat,
    broker_registration,
)
from replication.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from replication.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse, IsrAnswer
from replication.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from replication.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from replication.wire.messages.request import Request
from replication.wire.server.served_api import ServedApi, ServedApis

_SERVED: Final = (
    broker_registration,
    broker_heartbeat,
    alter_partition,
    assign_replicas_to_dirs,
    allocate_producer_ids,
)


T = TypeVar("T")


class Decider(Protocol):
    """What lets a controller decide, such as `StaticController`."""

    def decide(self, make: Callable[[Controller], Decision[T]]) -> T:
        """Return the controller's answer once it counts. Raises Refusal."""


class BrokerRequests:
    """Answers them with what the controller decides; a refusal is an answer with its error. Thread-safe."""

    def __init__(self, controller: Decider, clock: Callable[[], int] = monotonic_ms) -> None:
        """Ask this controller; `clock` is the one by which it lets sessions run out, in milliseconds."""
        self._controller: Final = controller
        self._clock: Final = clock
        self._answers: Final[Mapping[type, Callable[[Any], Any]]] = {
            BrokerRegistrationRequest: self._register,
            BrokerHeartbeatRequest: self._heartbeat,
            AlterPartitionRequest: self._alter_partition,
            AssignReplicasToDirsRequest: self._assign_replicas,
            AllocateProducerIdsRequest: self._allocate,
        }

    def answer(self, request: Request[AnswerT]) -> AnswerT:
        """Return the answer, once what was decided is on stable storage.

        Raises ControllerFailedError, and TypeError where brokers ask their controller for nothing like this.
        """
        known = self._answers.get(type(request))
        if known is None:
            raise TypeError(f"a broker does not ask its controller for {type(request).__name__}")
        answer: AnswerT = known(request)
        return answer

    def apis(self) -> ServedApis:
        """Return what is answered so over a network."""
        return {
            module.API_KEY: ServedApi(module.VERSIONS, lambda request, _: self.answer(request)) for module in _SERVED
        }

    def _register(self, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
        try:
            epoch = self._controller.decide(lambda deciding: deciding.register_broker(request, self._clock()))
        except Refusal as refusal:
            return BrokerRegistrationResponse(error=refusal.code, broker_epoch=-1)
        return BrokerRegistrationResponse(error=ErrorCode.NONE, broker_epoch=epoch)

    def _heartbeat(self, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        try:
            answer = self._controller.decide(lambda deciding: deciding.heartbeat(request, self._clock()))
        except Refusal as refusal:
            return BrokerHeartbeatResponse(
                error=refusal.code, is_caught_up=False, is_fenced=True, should_shut_down=False
            )
        return BrokerHeartbeatResponse(
            error=ErrorCode.NONE,
            is_caught_up=answer.is_caught_up,
            is_fenced=answer.is_fenced,
            should_shut_down=answer.should_shut_down,
        )

    def _alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        try:
            answers = self._controller.decide(lambda deciding: deciding.change_isrs(request))
        except Refusal as refusal:
            return AlterPartitionResponse(error=refusal.code)
        return AlterPartitionResponse(answers=tuple(map(_told, answers)))

    def _assign_replicas(self, request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse:
        try:
            answers = self._controller.decide(lambda deciding: deciding.assign_directories(request))
        except Refusal as refusal:
            return AssignReplicasToDirsResponse(error=refusal.code)
        return AssignReplicasToDirsResponse(answers=tuple(answers))

    def _allocate(self, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
        broker = request.broker_id, request.broker_epoch
        try:
            block = self._controller.decide(lambda deciding: deciding.allocate_producer_ids(*broker))
        except Refusal as refusal:
            return AllocateProducerIdsResponse(error=refusal.code)
        return AllocateProducerIdsResponse(error=ErrorCode.NONE, first_id=block.start, count=len(block))


def _told(answer: IsrChangeAnswer) -> IsrAnswer:
    state = answer.partition
    if state is None:
        return IsrAnswer(*answer.key, answer.error)
    return IsrAnswer(
        *answer.key,
        answer.error,
        leader=state.leader,
        isr=state.isr,
        leader_recovery_state=state.leader_recovery_state,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
    )
