"""Ids for producers, of which none is given twice (KIP-730; Kafka: ProducerIdManager)."""

from collections.abc import Callable
from typing import Final

from replication.standalone.reached_controller import ReachedController


class ProducerIds:
    """Has the controller give a broker one block after another."""

    def __init__(self, controller: ReachedController, broker_id: int, broker_epoch: Callable[[], int]) -> None:
        """Take blocks for a broker."""
        self._controller: Final = controller
        self._broker_id: Final = broker_id
        self._broker_epoch: Final = broker_epoch

    def next_block(self) -> range:
        """Return ids that nobody else gets, not even after a restart. Raises Refusal and ControllerFailedError."""
        epoch = self._broker_epoch()
        return self._controller.decide(lambda deciding: deciding.allocate_producer_ids(self._broker_id, epoch))
