"""kio's classes for messages: found by API and version, written as bytes and read from them.

The other packages of the protocol name kio's types by this module.
"""

from functools import cache
from types import ModuleType
from typing import Any, TypeVar

from replication.base.missing_package import missing_package
from replication.records.codec.fields import Data

try:
    from kio.index import load_payload_module
    from kio.schema.index import PayloadEntityType, api_key_map, schema_name_map
    from kio.static.constants import EntityType
    from kio.static.protocol import Entity, RequestPayload, ResponsePayload
except ModuleNotFoundError as error:
    raise missing_package("Kafka's protocol", error) from error

from replication.wire.encoding.kio_codec import kio_codec
from replication.wire.encoding.message_bytes import read_message, write_message

__all__ = [
    "RequestPayload",
    "ResponsePayload",
    "read",
    "request_class",
    "request_classes",
    "response_class",
    "response_classes",
    "served_versions",
    "write",
]

EntityT = TypeVar("EntityT", bound=Entity)


def request_classes(api_key: int, version: int) -> Any:
    """Return the module with a request's kio class and the classes of its parts."""
    return _module(api_key, version, EntityType.request)


def response_classes(api_key: int, version: int) -> Any:
    """Return the module with a response's kio class and the classes of its parts."""
    return _module(api_key, version, EntityType.response)


@cache
def request_class(api_key: int, version: int) -> type[RequestPayload]:
    """Return the kio class of an API's requests."""
    found: type[RequestPayload] = _payload_class(request_classes(api_key, version), EntityType.request)
    return found


@cache
def response_class(api_key: int, version: int) -> type[ResponsePayload]:
    """Return the kio class of an API's answers."""
    found: type[ResponsePayload] = _payload_class(response_classes(api_key, version), EntityType.response)
    return found


def served_versions(api_key: int) -> range | None:
    """Return the versions of an API that kio has; None where it has none."""
    name = api_key_map.get(api_key)
    if name is None:
        return None
    versions = schema_name_map[name]
    return range(min(versions), max(versions) + 1)


def _payload_class(module: ModuleType, kind: EntityType) -> Any:
    return next(found for found in vars(module).values() if getattr(found, "__type__", None) is kind)


@cache
def _module(api_key: int, version: int, kind: PayloadEntityType) -> ModuleType:
    return load_payload_module(api_key, version, kind)


def write(entity: Entity) -> bytes:
    """Return an entity as bytes; InvalidMessageError if it holds what does not fit its fields."""
    kind = type(entity)
    return write_message(kio_codec(kind), entity, kind.__name__)


def read(entity_type: type[EntityT], message: Data) -> EntityT:
    """Read an entity that takes up all the bytes; MalformedRequestError or MalformedResponseError if it does not."""
    entity: EntityT = read_message(kio_codec(entity_type), message, entity_type.__name__)
    return entity
