"""Copies of brokers' directories, served to Kafka's clients as a cluster that nobody can write to.

>>> with FrozenCluster.open([Path("broker-1"), Path("broker-2")]) as cluster, ClusterServer(cluster) as server:
...     print(server.bootstrap)

Names load their modules on first use.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "cluster.serving.cluster_server": ("ClusterServer",),
    "cluster.serving.checking": ("check_copies",),
    "cluster.serving.damages": ("Damages",),
    "cluster.serving.frozen_broker": ("FrozenBroker", "FrozenCopy"),
    "cluster.serving.frozen_cluster": ("FrozenCluster",),
    "cluster.serving.leader_choice": ("LeaderChoice",),
    "cluster.serving.unserved": ("Unserved",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
