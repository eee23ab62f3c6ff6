"""One broker, wherever its controller is.

>>> link = NetworkLink("controller1:9093", BrokerIdentity.of(directories))
>>> with BrokerNode(link, directories, BrokerNodeSettings(listener=listener)) as broker:
...     print(broker.address)

Names load their modules on first use.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "cluster.node.broker_node": ("BrokerNode",),
    "cluster.node.broker_node_settings": ("BrokerNodeSettings",),
    "cluster.node.joining.joined_broker": ("JoinedBroker",),
    "cluster.node.metrics.broker_metrics": ("BrokerMetrics",),
    "cluster.node.network_link": ("NetworkLink",),
    "wire.addresses": ("Address",),
    "wire.server.connections.listener_settings": ("ListenerSettings",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
