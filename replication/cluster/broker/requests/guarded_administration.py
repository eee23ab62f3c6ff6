"""What administrators ask of the controller, as far as they may (Kafka: ControllerApis)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import Permissions, PermissionsOf
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.broker.requests import altered_quotas, altered_users
from replication.cluster.broker.requests.altered_quotas import each_entity
from replication.cluster.broker.requests.altered_users import each_user
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.messages import describe_quorum, elect_leaders, list_partition_reassignments
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.describe_quorum import DescribedQuorum
from replication.wire.messages.elect_leaders import ElectionResult, ElectLeadersResponse
from replication.wire.messages.list_partition_reassignments import ListedReassignments
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi, ServedApis

_CREATE_TOPICS: Final = 19
_DELETE_TOPICS: Final = 20
_ALTER_CONFIGS: Final = 33
_CREATE_PARTITIONS: Final = 37
_INCREMENTAL_ALTER_CONFIGS: Final = 44
_ALTER_PARTITION_REASSIGNMENTS: Final = 45
_UPDATE_FEATURES: Final = 57
_UNREGISTER_BROKER: Final = 64
_NAMES_IDS: Final = 6
"""The first version of DeleteTopics that may name topics by their ids."""
_TELLS_SETTINGS: Final = 5
"""The first version of CreateTopics that answers with the settings of topics."""
_TOPIC, _GROUP = 2, 32
"""Types of resources that have settings (Kafka: ConfigResource.Type); all others are the cluster's."""
_TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_CLUSTER_DENIED: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED

Answer: TypeAlias = Callable[[Any, Call], Any]
Denial: TypeAlias = Callable[[Any, Permissions], dict[str, Any] | None]
"""Returns what is answered instead to callers that may not do what a part of a request asks for; None to others."""


def guarded_administration(apis: ServedApis, cluster: KnownCluster, permissions: PermissionsOf) -> ServedApis:
    """Return what answers these requests at once only as far as their callers may ask.

    A request for which nobody knows what it takes raises ValueError here: it would be open to everybody.
    """
    unknown = apis.keys() - _PARTS.keys() - _WHOLE.keys() - {_DELETE_TOPICS}
    if unknown:
        raise ValueError(f"no rights are known for APIs {sorted(unknown)}: serve them without a guard, or add theirs")
    return {key: ServedApi(api.versions, _guard(key, api.answer, cluster, permissions)) for key, api in apis.items()}


class _Parts(NamedTuple):
    """A request of several parts, each with a right of its own."""

    asked: str
    """What they are called in the request."""
    told: str
    """And in the answer."""
    denial: Denial


def _guard(key: int, answer: Answer, cluster: KnownCluster, permissions: PermissionsOf) -> Answer:
    def guarded(request: Any, call: Call) -> Any:
        granted = permissions(call.caller)
        if key in _WHOLE:
            operation, denied = _WHOLE[key]
            is_permitted = granted.may(operation, ResourceType.CLUSTER)
            return answer(request, call) if is_permitted else denied(request, call)
        parts = _deletion(cluster, call.version) if key == _DELETE_TOPICS else _PARTS[key]
        told = _split(key, parts, answer, request, call, granted)
        hides = key == _CREATE_TOPICS and call.version >= _TELLS_SETTINGS
        return replace(told, topics=tuple(_shown(each, granted) for each in told.topics)) if hides else told

    return guarded


def _split(key: int, parts: _Parts, answer: Answer, request: Any, call: Call, permissions: Permissions) -> Any:
    asked = getattr(request, parts.asked)
    denials = [parts.denial(each, permissions) for each in asked]
    permitted = tuple(each for each, denial in zip(asked, denials, strict=True) if denial is None)
    if len(permitted) == len(asked):
        return answer(request, call)
    refused = kio_answer(key, call.version, {parts.told: [each for each in denials if each is not None]})
    if not permitted:
        return refused
    told = answer(replace(request, **{parts.asked: permitted}), call)
    return replace(told, **{parts.told: (*getattr(told, parts.told), *getattr(refused, parts.told))})


# --- topics and settings


def _created(topic: Any, permissions: Permissions) -> dict[str, Any] | None:
    may_all = permissions.may(Operation.CREATE, ResourceType.CLUSTER)
    if may_all or permissions.may(Operation.CREATE, ResourceType.TOPIC, topic.name):
        return None
    nothing = {"topic_id": None, "topic_config_error_code": ErrorCode.NONE, "configs": ()}
    said = {"error_code": _TOPIC_DENIED, "error_message": "Authorization failed."}
    return {"name": topic.name, **said, **nothing, "num_partitions": -1, "replication_factor": -1}


def _shown(topic: Any, permissions: Permissions) -> Any:
    """Return a topic that was made, without its settings for whoever may not describe them."""
    is_made = topic.error_code == ErrorCode.NONE
    if not is_made or permissions.may(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, topic.name):
        return topic
    return replace(topic, topic_config_error_code=_TOPIC_DENIED, num_partitions=-1, replication_factor=-1, configs=())


def _enlarged(topic: Any, permissions: Permissions) -> dict[str, Any] | None:
    is_permitted = permissions.may(Operation.ALTER, ResourceType.TOPIC, topic.name)
    return None if is_permitted else {"name": topic.name, "error_code": _TOPIC_DENIED, "error_message": None}


def _deletion(cluster: KnownCluster, version: int) -> _Parts:
    topics = cluster.image().topics

    def denial(topic: Any, permissions: Permissions) -> dict[str, Any] | None:
        topic_id: UUID | None = topic.topic_id if version >= _NAMES_IDS else None
        known = None if topic_id is None else topics.by_id.get(topic_id)
        if topic_id is not None and known is None:
            return None  # unknown, which is told to everybody
        name: str = known.name if known else topic.name if version >= _NAMES_IDS else topic
        may_know = permissions.may(Operation.DESCRIBE, ResourceType.TOPIC, name)
        if may_know and (name not in topics.by_name or permissions.may(Operation.DELETE, ResourceType.TOPIC, name)):
            return None
        # Of a topic that was named by its id its name is told only to whoever may know it.
        return {"name": name if may_know or known is None else None, "topic_id": topic_id, **_said(_TOPIC_DENIED)}

    return _Parts("topics" if version >= _NAMES_IDS else "topic_names", "responses", denial)


def _altered(resource: Any, permissions: Permissions) -> dict[str, Any] | None:
    kind, name = resource.resource_type, resource.resource_name
    if kind == _TOPIC:
        is_permitted, error = permissions.may(Operation.ALTER_CONFIGS, ResourceType.TOPIC, name), _TOPIC_DENIED
    elif kind == _GROUP:
        is_permitted = permissions.may(Operation.ALTER_CONFIGS, ResourceType.GROUP, name)
        error = ErrorCode.GROUP_AUTHORIZATION_FAILED
    else:
        is_permitted, error = permissions.may(Operation.ALTER_CONFIGS, ResourceType.CLUSTER), _CLUSTER_DENIED
    return None if is_permitted else {"resource_type": kind, "resource_name": name, **_said(error)}


def _said(error: ErrorCode) -> dict[str, Any]:
    return {"error_code": error, "error_message": message_of(error)}


# --- what is asked of the whole cluster


def _elected(request: Any, _: Call) -> ElectLeadersResponse:
    result = ElectionResult(_CLUSTER_DENIED, message_of(_CLUSTER_DENIED))
    return ElectLeadersResponse(error=_CLUSTER_DENIED, results=dict.fromkeys(request.partitions or (), result))


def _reassigned(request: Any, call: Call) -> Any:
    named = ((topic.name, each.partition_index) for topic in request.topics for each in topic.partitions)
    responses = [
        {"name": name, "partitions": [{"partition_index": index, **_said(_CLUSTER_DENIED)} for index, _ in some]}
        for name, some in by_topic((each, None) for each in named).items()  # type: ignore[misc]
    ]
    allowed = getattr(request, "allow_replication_factor_change", True)
    content = {**_said(_CLUSTER_DENIED), "allow_replication_factor_change": allowed, "responses": responses}
    return kio_answer(_ALTER_PARTITION_REASSIGNMENTS, call.version, content)


def _listed(_: Any, __: Call) -> ListedReassignments:
    return ListedReassignments(error=_CLUSTER_DENIED, error_message=message_of(_CLUSTER_DENIED), partitions={})


def _quorum(_: Any, __: Call) -> DescribedQuorum:
    return DescribedQuorum(error=_CLUSTER_DENIED, error_message=message_of(_CLUSTER_DENIED))


def _as_they_were(_: Any, call: Call) -> Any:
    return kio_answer(_UPDATE_FEATURES, call.version, {**_said(_CLUSTER_DENIED), "results": []})


def _unlimited(request: Any, call: Call) -> Any:
    return kio_answer(altered_quotas.API_KEY, call.version, each_entity(request, _said(_CLUSTER_DENIED)))


def _unaltered(request: Any, call: Call) -> Any:
    return kio_answer(altered_users.API_KEY, call.version, each_user(request, _said(_CLUSTER_DENIED)))


def _kept(_: Any, call: Call) -> Any:
    return kio_answer(_UNREGISTER_BROKER, call.version, {"error_code": _CLUSTER_DENIED, "error_message": None})


_PARTS: Final[Mapping[int, _Parts]] = {
    _CREATE_TOPICS: _Parts("topics", "topics", _created),
    _CREATE_PARTITIONS: _Parts("topics", "results", _enlarged),
    _ALTER_CONFIGS: _Parts("resources", "responses", _altered),
    _INCREMENTAL_ALTER_CONFIGS: _Parts("resources", "responses", _altered),
}
_WHOLE: Final[Mapping[int, tuple[Operation, Answer]]] = {
    elect_leaders.API_KEY: (Operation.ALTER, _elected),
    _ALTER_PARTITION_REASSIGNMENTS: (Operation.ALTER, _reassigned),
    list_partition_reassignments.API_KEY: (Operation.DESCRIBE, _listed),
    describe_quorum.API_KEY: (Operation.DESCRIBE, _quorum),
    _UPDATE_FEATURES: (Operation.ALTER, _as_they_were),
    altered_quotas.API_KEY: (Operation.ALTER_CONFIGS, _unlimited),
    altered_users.API_KEY: (Operation.ALTER, _unaltered),
    _UNREGISTER_BROKER: (Operation.ALTER, _kept),
}
"""What each takes of the cluster, and its answer to whoever may not."""
