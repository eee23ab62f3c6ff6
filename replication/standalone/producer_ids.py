"""Ids for producers, of which none is given twice (KIP-730; Kafka: ProducerIdManager)."""

from typing import Final

from replication.controller.controller import Controller
from replication.controller.decision import Decision
from replication.metadata.records import ProducerIdsRecord
from replication.standalone.reached_controller import ReachedController

BLOCK_SIZE: Final = 1_000


class ProducerIds:
    """Has the controller give a broker one block after another."""

    def __init__(self, controller: ReachedController, broker_id: int) -> None:
        """Take blocks for a broker."""
        self._controller: Final = controller
        self._broker_id: Final = broker_id

    def next_block(self) -> range:
        """Return ids that nobody else gets, not even after a restart. Raises ControllerFailedError."""
        return self._controller.decide(self._next)

    def _next(self, controller: Controller) -> Decision[range]:
        image = controller.cluster.image
        first = image.next_producer_id
        broker = image.brokers.get(self._broker_id)
        record = ProducerIdsRecord(
            broker_id=self._broker_id,
            broker_epoch=-1 if broker is None else broker.epoch,
            next_producer_id=first + BLOCK_SIZE,
        )
        return Decision([record], range(first, first + BLOCK_SIZE))
