"""Brokers with a controller of their own in the same process, and that controller at an address of its own.

>>> with StandaloneBroker.open([Path("data")], BrokerNodeSettings(listener=listener)) as broker:
...     print(broker.local.address)

Names load their modules on first use.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "cluster.standalone.formatting": ("ensure_formatted",),
    "cluster.standalone.local_link": ("LocalLink",),
    "cluster.standalone.quorum.controller_server": ("ControllerServer",),
    "cluster.standalone.quorum.standalone_controller": ("StandaloneController",),
    "cluster.standalone.standalone_broker": ("StandaloneBroker",),
    "cluster.standalone.static_controller": ("StaticController",),
    "cluster.standalone.stored_metadata": ("StoredMetadata",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
