"""Ids for producers, of which none is given twice (KIP-730; Kafka: ProducerIdManager)."""

from collections.abc import Callable
from typing import Final

from replication.broker.lifecycle.controller_channel import Channel
from replication.broker.lifecycle.errors import RefusedByControllerError
from replication.node.controller_link import asked
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest


class ProducerIds:
    """Has the controller give a broker one block after another."""

    def __init__(self, channel: Channel, broker_id: int, broker_epoch: Callable[[], int]) -> None:
        """Take blocks for a broker, by a channel of its own."""
        self._channel: Final = channel
        self._broker_id: Final = broker_id
        self._broker_epoch: Final = broker_epoch

    def next_block(self) -> range:
        """Return ids that nobody else gets, not even after a restart. One thread at a time asks.

        Raises NoControllerError and RefusedByControllerError.
        """
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        answer = asked(self._channel, request)
        if answer.error is not ErrorCode.NONE:
            raise RefusedByControllerError(self._broker_id, "producer ids", answer.error, self._channel.address)
        return range(answer.first_id, answer.first_id + answer.count)
