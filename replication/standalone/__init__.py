"""Brokers with a controller of their own in the same process, and that controller at an address of its own.

>>> with StandaloneBroker.open([Path("data")], BrokerNodeSettings(listener=listener)) as broker:
...     print(broker.local.address)

Names load their modules on first use.
"""

from replication.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "local_link": ("LocalLink",),
    "quorum.controller_server": ("ControllerServer",),
    "quorum.standalone_controller": ("StandaloneController",),
    "standalone_broker": ("StandaloneBroker",),
    "static_controller": ("StaticController",),
    "stored_metadata": ("StoredMetadata",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
