"""Answers DescribeClientQuotas: what limits which clients, by the metadata; nothing enforces it here (KIP-546)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.wire.encoding.kio_messages import served_versions
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call

API_KEY: Final = 48
VERSIONS: Final = served_versions(API_KEY) or range(0)

_EXACT, _DEFAULT, _SPECIFIED = range(3)
_IP: Final = "ip"
_TYPES: Final = ("user", "client-id", _IP)
_DENIED: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED

_Entity = dict[str, str | None]
"""A name for each type; None is whoever has no limit of its own."""


class DescribedQuotas:
    """Describes the metadata's limits of clients (Kafka: ClientQuotasImage)."""

    def __init__(self, cluster: KnownCluster, permissions: PermissionsOf = unlimited) -> None:
        """Describe this cluster to those who may describe its configurations."""
        self._cluster: Final = cluster
        self._permissions: Final = permissions

    def answer(self, request: Any, call: Call) -> Any:
        """Answer with all that matches each of the components; with all there is where there are none."""
        if not self._permissions(call.caller).may(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER):
            return _refused(call, _DENIED, None)
        refusal = _refusal(request.components)
        if refusal is not None:
            return _refused(call, *refusal)
        known = self._cluster.image().client_quotas.items()
        limits = (({part.entity_type: part.entity_name for part in entity}, values) for entity, values in known)
        entries = [
            _entry(entity, values)
            for entity, values in limits
            if _is_asked_for(entity, request.components, is_strict=request.strict)
        ]
        return kio_answer(
            API_KEY, call.version, {"error_code": ErrorCode.NONE, "error_message": "", "entries": entries}
        )


def _refused(call: Call, error: ErrorCode, message: str | None) -> Any:
    return kio_answer(API_KEY, call.version, {"error_code": error, "error_message": message, "entries": None})


def _refusal(components: Sequence[Any]) -> tuple[ErrorCode, str] | None:
    """Return what is wrong with the first component that something is wrong with, or with all of them together."""
    seen: set[str] = set()
    for each in components:
        kind = each.entity_type
        if kind in seen:
            return ErrorCode.INVALID_REQUEST, f"entity type {kind} is asked for twice"
        if kind and kind not in _TYPES:
            return ErrorCode.UNSUPPORTED_VERSION, f"there is no entity type {kind}: ask for one of {', '.join(_TYPES)}"
        if not kind:
            return ErrorCode.INVALID_REQUEST, "a component has no entity type"
        if each.match_type not in {_EXACT, _DEFAULT, _SPECIFIED}:
            return ErrorCode.INVALID_REQUEST, f"there is no match type {each.match_type}"
        if (each.match is not None) != (each.match_type == _EXACT):
            return ErrorCode.INVALID_REQUEST, f"a name of {kind} belongs to match type {_EXACT}, and to no other"
        seen.add(kind)
    if _IP in seen and len(seen) > 1:
        return ErrorCode.INVALID_REQUEST, "addresses are limited by themselves: ask for no user or client with them"
    return None


def _is_asked_for(entity: _Entity, components: Iterable[Any], *, is_strict: bool) -> bool:
    asked = {each.entity_type: each for each in components}
    if is_strict and (not asked or asked.keys() != entity.keys()):
        return False
    return all(
        kind in entity and (each.match_type == _SPECIFIED or entity[kind] == each.match) for kind, each in asked.items()
    )


def _entry(entity: _Entity, values: Mapping[str, float]) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in sorted(entity.items())],
        "values": [{"key": key, "value": value} for key, value in sorted(values.items())],
    }
