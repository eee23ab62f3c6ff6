"""Copies of brokers' directories, served to Kafka's clients as a cluster that nobody can write to.

>>> with FrozenCluster.open([Path("broker-1"), Path("broker-2")]) as cluster, ClusterServer(cluster) as server:
...     print(server.bootstrap)

Names load their modules on first use.
"""

from replication.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "cluster_server": ("ClusterServer",),
    "checking": ("check_copies",),
    "damages": ("Damages",),
    "frozen_broker": ("FrozenBroker", "FrozenCopy"),
    "frozen_cluster": ("FrozenCluster",),
    "leader_choice": ("LeaderChoice",),
    "unserved": ("Unserved",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
