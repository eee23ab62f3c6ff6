"""The features of a cluster, as ApiVersions reports them (KIP-584)."""

from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.wire.server.offered_versions import Features


def features_of(cluster: KnownCluster) -> Features:
    """Return what the cluster has agreed on by now, and what this broker supports.

    Of a broker that has registered no levels those are returned at which the cluster works.
    """
    image = cluster.image()
    finalized = {name: range(level, level + 1) for name, level in image.features.items()}
    own = image.brokers.get(cluster.node_id)
    registered = {} if own is None else own.features
    supported = {
        name: range(each.min_supported_version, each.max_supported_version + 1) for name, each in registered.items()
    }
    return Features(supported or finalized, finalized, cluster.offset())
