"""In which order a controller that becomes active gives up the brokers of which it hears nothing.

Their sessions all begin when it becomes active, so they run out together. Since 4.0 Kafka keeps them in a hash map, and
fences one after another in that map's order, which follows from the ids and epochs (Kafka: BrokerHeartbeatTracker).
"""

from collections.abc import Iterable, Mapping
from typing import Final

from replication.records.metadata.metadata_version import MetadataVersion
from replication.records.metadata.nodes import BrokerRegistration

_LEAST_BUCKETS: Final = 16
_INT: Final = (1 << 32) - 1


def fencing_turns(brokers: Iterable[BrokerRegistration], metadata_version: int) -> Mapping[int, int]:
    """Return for each broker that is not fenced its turn, the lowest first: those of one turn come in any order."""
    alive = [broker for broker in brokers if not broker.fenced]
    if metadata_version < MetadataVersion.V4_0_IV0:
        return dict.fromkeys((broker.id for broker in alive), 0)
    buckets = _buckets(len(alive))
    return {broker.id: _spread(_hash(broker.id, broker.epoch)) % buckets for broker in alive}


def _buckets(count: int) -> int:
    """Return how many buckets Java's ConcurrentHashMap has: always more than four thirds of what is in it."""
    buckets = _LEAST_BUCKETS
    while 4 * count >= 3 * buckets:
        buckets *= 2
    return buckets


def _hash(broker_id: int, epoch: int) -> int:
    """Return the hash of Kafka's BrokerIdAndEpoch, a Java record."""
    return (31 * broker_id + (epoch ^ (epoch >> 32))) & _INT


def _spread(hashed: int) -> int:
    return (hashed ^ (hashed >> 16)) & (_INT >> 1)
