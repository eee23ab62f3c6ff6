"""Requests of brokers: ControlledShutdown, AlterPartition and AllocateProducerIds (Kafka: KafkaApis)."""

from typing import Any, Final

from replication.cluster.classic.guarded_controller import GuardedController
from replication.cluster.controller.classic.term import PRODUCER_IDS
from replication.cluster.controller.refusal import Refusal
from replication.wire.error_code import ErrorCode
from replication.wire.messages import allocate_producer_ids, alter_partition
from replication.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from replication.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from replication.wire.messages.classic import controlled_shutdown
from replication.wire.messages.classic.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi, ServedApis


class BrokerRequests:
    """Answers them; a refusal is an answer with its error."""

    def __init__(self, controller: GuardedController) -> None:
        """Ask this controller."""
        self._controller: Final = controller

    def apis(self) -> ServedApis:
        """Return what is answered so."""
        answers: dict[Any, Any] = {
            controlled_shutdown: self.shut_down,
            alter_partition: self.alter_partition,
            allocate_producer_ids: self.allocate,
        }
        return {module.API_KEY: ServedApi(module.VERSIONS, answer) for module, answer in answers.items()}

    def shut_down(self, request: ControlledShutdownRequest, _: Call) -> ControlledShutdownResponse:
        """Answer ControlledShutdown."""
        try:
            remaining = self._controller.decide(lambda term: term.shut_down(request.broker_id, request.broker_epoch))
        except Refusal as refusal:
            return ControlledShutdownResponse(error=refusal.code)
        return ControlledShutdownResponse(remaining=tuple(remaining))

    def alter_partition(self, request: AlterPartitionRequest, _: Call) -> AlterPartitionResponse:
        """Answer AlterPartition."""
        try:
            return self._controller.decide(lambda term: term.isr_changes.change(request))
        except Refusal as refusal:
            return AlterPartitionResponse(error=refusal.code)

    def allocate(self, request: AllocateProducerIdsRequest, _: Call) -> AllocateProducerIdsResponse:
        """Answer AllocateProducerIds."""
        try:
            first = self._controller.decide(
                lambda term: term.allocate_producer_ids(request.broker_id, request.broker_epoch)
            )
        except Refusal as refusal:
            return AllocateProducerIdsResponse(error=refusal.code)
        return AllocateProducerIdsResponse(error=ErrorCode.NONE, first_id=first, count=PRODUCER_IDS)
