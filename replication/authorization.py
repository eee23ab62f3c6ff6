"""Who may do what, by the access control entries of a cluster's metadata (Kafka: StandardAuthorizer).

>>> authorizer = Authorizer(lambda: image, AuthorizerSettings.of_properties(properties))
>>> authorizer.permissions(caller).may(Operation.READ, ResourceType.TOPIC, "orders")

Names load their modules on first use.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "cluster.broker.authorization.authorizer": ("Authorizer",),
    "cluster.broker.authorization.authorizer_settings": ("AuthorizerSettings",),
    "cluster.broker.authorization.operation": ("Operation",),
    "cluster.broker.authorization.resource_type": ("ResourceType",),
    "records.metadata.loading": ("load_image",),
    "wire.server.call": ("Caller",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
