"""kio's classes for messages: found by API and version, written as bytes and read from them.

The other packages of the protocol name kio's types by this module.
"""

from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any, Final, TypeVar

from kio.index import load_payload_module
from kio.schema.index import PayloadEntityType
from kio.static.constants import EntityType
from kio.static.protocol import Entity, RequestPayload, ResponsePayload

from replication.protocol.wire import offset_for_leader_epoch_v0, offset_for_leader_epoch_v1
from replication.protocol.wire.kio_codec import kio_codec
from replication.protocol.wire.message_bytes import read_message, write_message

__all__ = [
    "RequestPayload",
    "ResponsePayload",
    "read",
    "request_classes",
    "response_class",
    "response_classes",
    "write",
]

EntityT = TypeVar("EntityT", bound=Entity)

_OURS: Final[Mapping[tuple[int, int], ModuleType]] = {
    (23, 0): offset_for_leader_epoch_v0,
    (23, 1): offset_for_leader_epoch_v1,
}
"""What kio lacks, by API key and version."""


def request_classes(api_key: int, version: int) -> Any:
    """Return the module with a request's kio class and the classes of its parts."""
    return _module(api_key, version, EntityType.request)


def response_classes(api_key: int, version: int) -> Any:
    """Return the module with a response's kio class and the classes of its parts."""
    return _module(api_key, version, EntityType.response)


@cache
def response_class(request_class: type[RequestPayload], version: int | None = None) -> type[ResponsePayload]:
    """Return the kio class of the answer to a request, in the request's version unless another is named."""
    version = request_class.__version__ if version is None else version
    module = response_classes(request_class.__api_key__, version)
    found: type[ResponsePayload] = getattr(module, request_class.__name__.removesuffix("Request") + "Response")
    return found


@cache
def _module(api_key: int, version: int, kind: PayloadEntityType) -> ModuleType:
    return _OURS.get((api_key, version)) or load_payload_module(api_key, version, kind)


def write(entity: Entity) -> bytes:
    """Return an entity as bytes; InvalidMessageError if it holds what does not fit its fields."""
    kind = type(entity)
    return write_message(kio_codec(kind), entity, kind.__name__)


def read(entity_type: type[EntityT], message: memoryview) -> EntityT:
    """Read an entity that takes up all the bytes; MalformedRequestError or MalformedResponseError if it does not."""
    entity: EntityT = read_message(kio_codec(entity_type), message, entity_type.__name__)
    return entity
