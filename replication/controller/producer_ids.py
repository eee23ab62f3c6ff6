"""Ids for producers, of which none is given twice (KIP-730; Kafka: ProducerIdControlManager)."""

from typing import Final

from replication.controller.brokers.broker_registry import registered
from replication.controller.cluster_state import ClusterState
from replication.controller.decision import Decision
from replication.controller.refusal import Refusal
from replication.metadata.records import ProducerIdsRecord
from replication.protocol.error_code import ErrorCode

BLOCK_SIZE: Final = 1_000
_HIGHEST_ID: Final = (1 << 63) - 1


def allocate_producer_ids(cluster: ClusterState, broker_id: int, broker_epoch: int) -> Decision[range]:
    """Give a broker the next block of ids. Refuses with STALE_BROKER_EPOCH, and once there are no more."""
    registered(cluster, broker_id, broker_epoch)
    first = cluster.image.next_producer_id
    if first > _HIGHEST_ID - BLOCK_SIZE:
        raise Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, f"all producer ids up to {first} have been given")
    end = first + BLOCK_SIZE
    record = ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=end)
    return Decision([record], range(first, end))
