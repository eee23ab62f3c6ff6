"""Coordinators of groups and transactions on other brokers (Kafka: CoordinatorPartitionWriter, partitionFor)."""

from typing import Final

from replication.base.int32 import INT32, java_hash
from replication.cluster.broker.requests.known_cluster import KnownCluster, node_of
from replication.wire.messages.metadata import Broker
from replication.wire.messages.topic_ids import Endpoint
from replication.wire.server.call import Call

GROUPS: Final = "__consumer_offsets"
TRANSACTIONS: Final = "__transaction_state"


class OtherCoordinators:
    """Finds them by the metadata: who leads the partition of a topic of theirs that an id belongs to."""

    def __init__(self, cluster: KnownCluster, topic: str) -> None:
        """`topic` is where they keep what they know."""
        self._cluster: Final = cluster
        self._topic: Final = topic

    def endpoint(self, key: str, call: Call) -> Endpoint | None:
        """Return where the coordinator of an id listens; None where nobody is, or this broker, which is none."""
        node = self.node(key, call.caller.listener)
        return None if node is None else Endpoint(node.id, node.host, node.port)

    def node(self, key: str, listener: str) -> Broker | None:
        """Return the coordinator of an id as it is reached by a listener; None as for `endpoint`."""
        image = self._cluster.image()
        topic = image.topics.by_name.get(self._topic)
        if topic is None:
            return None
        leader = topic.partitions[coordinating_partition(key, len(topic.partitions))].leader
        return None if leader == self._cluster.node_id else node_of(image.brokers.get(leader), listener)


def coordinating_partition(key: str, count: int) -> int:
    """Return to which of so many partitions an id belongs: by Java's hash of a string, without its sign."""
    code = java_hash(key)
    # Of the least number Java has no absolute value, and Kafka takes 0.
    return 0 if code == INT32.start else abs(code) % count
