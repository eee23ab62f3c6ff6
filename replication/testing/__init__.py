"""Clusters to test clients and tools against: brokers that are killed, cut off, and lose what is not on disk.

>>> with Cluster(brokers=3) as cluster:
...     cluster.create_topic("orders", partitions=3, replication_factor=3)
...     print(cluster.bootstrap)

`SimulatedCluster` is such a cluster in one thread, with simulated time and a simulated network: repeatable from a seed.

Names load their modules on first use.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "testing.cluster": ("Cluster",),
    "testing.forgetful_disk": ("ForgetfulDisk",),
    "testing.links": ("CONTROLLER", "Links"),
    "testing.simulated.network": ("NetworkFaults",),
    "testing.simulated.simulated_cluster": ("SimulatedCluster",),
    "testing.simulated.simulated_producer": ("CLIENT", "SimulatedRecord"),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
