"""Which leaderships are to be brought back to their preferred replicas."""

from collections import Counter

from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.partition_index import PartitionKey


def is_imbalanced(preferring: int, led_elsewhere: int, percentage: int) -> bool:
    """Whether, of the partitions that prefer a broker, more than `percentage` % are led elsewhere."""
    return led_elsewhere * 100 > preferring * percentage


def imbalanced(cluster: ClusterState, percentage: int | None) -> list[PartitionKey]:
    """Return the partitions that another than the preferred leader leads: all (None), or of imbalanced brokers only."""
    keys = cluster.index.imbalanced()
    if percentage is None or not keys:
        return keys
    preferred = {key: cluster.partition(key).preferred_leader for key in keys}
    preferring = Counter(state.preferred_leader for _, _, state in cluster.image.topics.partitions())
    elsewhere = Counter(preferred.values())
    brokers = {each for each, count in elsewhere.items() if is_imbalanced(preferring[each], count, percentage)}
    return [key for key in keys if preferred[key] in brokers]
