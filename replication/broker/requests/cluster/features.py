"""The features of a cluster, as ApiVersions tells them (KIP-584)."""

from collections.abc import Mapping
from typing import NamedTuple, Self

from replication.broker.requests.known_cluster import KnownCluster


class Features(NamedTuple):
    """Levels by the features' names."""

    supported: Mapping[str, range]
    """Those that this broker can work at; of one that has not registered any, those that the cluster works at."""
    finalized: Mapping[str, range]
    """Those that the cluster has agreed on, as ranges of one level."""
    epoch: int
    """The offset of the metadata of which they are; -1 where it is not known."""

    @classmethod
    def of(cls, cluster: KnownCluster) -> Self:
        """Return them as of now."""
        image = cluster.image()
        finalized = {name: range(level, level + 1) for name, level in image.features.items()}
        own = image.brokers.get(cluster.node_id)
        registered = {} if own is None else own.features
        supported = {
            name: range(each.min_supported_version, each.max_supported_version + 1) for name, each in registered.items()
        }
        return cls(supported or finalized, finalized, cluster.offset())
