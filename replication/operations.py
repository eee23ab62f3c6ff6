"""Running clusters, as operators see them: their state, and what an election would do (`epochlog cluster`, `elect`).

>>> forecast(described_state(view), ElectionType.PREFERRED, [TopicPartition("orders", 0)])

Names load their modules on first use.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "cluster.operations.cluster_reader": ("read_cluster",),
    "cluster.operations.cluster_view": ("BrokerView", "ClusterView"),
    "cluster.operations.described_state": ("described_state",),
    "cluster.operations.election_forecast": ("ElectionForecast", "forecast"),
    "cluster.operations.partition_view": ("PartitionView",),
    "wire.addresses": ("Address",),
    "wire.messages.elect_leaders": ("ElectionType",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
