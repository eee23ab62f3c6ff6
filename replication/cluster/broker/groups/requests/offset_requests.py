"""Requests about what groups have committed: OffsetCommit and OffsetFetch."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from logstore import TopicPartition
from logstore.clock import now_ms
from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import Permissions, PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.errors import GroupRefusedError
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.records.coordinator_records.offset_commit import OffsetCommit
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.topics import Topics
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call

OFFSET_COMMIT: Final = 8
OFFSET_FETCH: Final = 9

_NAMES_GROUPS: Final = 8
"""The first version of OffsetFetch that asks about several groups."""
_KNOWS_LOST_GROUPS: Final = 9
"""The first version of OffsetCommit whose answer says that the group is not there."""
_HAS_IDS: Final = 10
"""The first version of both that names topics by their ids."""
_TELLS_GROUP_ERROR: Final = 2
"""The first version of OffsetFetch that has an error of the group."""
_GROUP_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_NOTHING: Final = OffsetCommit(offset=-1)


class OffsetRequests:
    """Answers them in kio's terms; nothing is ever pending, as no transaction commits here."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        image: Callable[[], ClusterImage],
        permissions: PermissionsOf = unlimited,
    ) -> None:
        """`image` gives the cluster's topics; for those that a caller may not use he gets an error."""
        self._coordinator = coordinator
        self._image = image
        self._permissions = permissions

    def commit(self, request: Any, call: Call) -> Any:
        """Answer OffsetCommit: what is committed for topics that are there counts, as far as it is allowed."""
        topics, permissions = self._image().topics, self._permissions(call.caller)
        named = [(topic, _named(topic, call.version, topics)) for topic in request.topics]
        if not permissions.may(Operation.READ, ResourceType.GROUP, request.group_id):
            denied = [_committed(topic, name, {}, call.version, _GROUP_DENIED) for topic, name in named]
            return kio_answer(OFFSET_COMMIT, call.version, {"topics": denied})
        denials = {name: _denial(permissions, Operation.READ, name) for _, name in named}
        now = now_ms()
        commits = {
            TopicPartition(name, each.partition_index): _commit(each, now)
            for topic, name in named
            for each in topic.partitions
            if name in topics.by_name and each.partition_index in topics.by_name[name].partitions
            if denials[name] is ErrorCode.NONE
        }
        errors = self._commit(request, commits, call.version) if commits else {}
        answers = [
            _committed(topic, name, errors, call.version, denials[name])
            for topic, name in named
            if topic.partitions or name not in topics.by_name or denials[name]  # as Kafka leaves out the others
        ]
        return kio_answer(OFFSET_COMMIT, call.version, {"topics": answers})

    def fetch(self, request: Any, call: Call) -> Any:
        """Answer OffsetFetch, for one group or, in later versions, for several."""
        permissions = self._permissions(call.caller)
        if call.version < _NAMES_GROUPS:
            return kio_answer(OFFSET_FETCH, call.version, self._group(permissions, request, call.version))
        asked = {each.group_id: each for each in request.groups}  # each once, however often it is named
        groups = [self._group(permissions, each, call.version) for each in asked.values()]
        return kio_answer(OFFSET_FETCH, call.version, {"groups": groups})

    def _group(self, permissions: Permissions, asked: Any, version: int) -> dict[str, Any]:
        group_id: str = asked.group_id
        if not permissions.may(Operation.DESCRIBE, ResourceType.GROUP, group_id):
            return _group_error(asked, version, _GROUP_DENIED)
        try:
            topics = self._fetched(permissions, group_id, asked.topics, version)
        except GroupRefusedError as refused:
            return _group_error(asked, version, refused.code)
        return {"group_id": group_id, "topics": topics, "error_code": ErrorCode.NONE}

    def _commit(
        self, request: Any, commits: Mapping[TopicPartition, OffsetCommit], version: int
    ) -> Mapping[TopicPartition, ErrorCode]:
        errors = self._coordinator.commit(
            request.group_id,
            commits,
            generation=request.generation_id_or_member_epoch,
            member_id=request.member_id,
            instance_id=getattr(request, "group_instance_id", None),
        )
        if version < _KNOWS_LOST_GROUPS and ErrorCode.GROUP_ID_NOT_FOUND in errors.values():
            return dict.fromkeys(commits, ErrorCode.ILLEGAL_GENERATION)
        return errors

    def _fetched(
        self, permissions: Permissions, group_id: str, asked: Iterable[Any] | None, version: int
    ) -> list[dict[str, Any]]:
        committed = self._coordinator.committed(group_id)
        topics = self._image().topics
        if asked is None:
            names = tuple({partition.topic for partition in committed})
            permitted = frozenset(permissions.those(Operation.DESCRIBE, ResourceType.TOPIC, names))
            told = {partition: commit for partition, commit in committed.items() if partition.topic in permitted}
            return _all_fetched(told, topics, version)
        named = ((topic, _named(topic, version, topics)) for topic in asked)
        return [
            _fetched_topic(topic, name, committed, version, _denial(permissions, Operation.DESCRIBE, name))
            for topic, name in named
        ]


def _commit(asked: Any, now: int) -> OffsetCommit:
    return OffsetCommit(
        offset=asked.committed_offset,
        leader_epoch=getattr(asked, "committed_leader_epoch", -1),
        metadata=asked.committed_metadata or "",
        commit_timestamp=now,
    )


def _named(topic: Any, version: int, topics: Topics) -> str | None:
    """Return what a topic is called, None where there is none of the id."""
    if version < _HAS_IDS:
        return str(topic.name)
    found = topics.by_id.get(topic.topic_id)
    return found.name if found else None


def _reference(topic: Any, version: int) -> dict[str, Any]:
    return {"name": topic.name} if version < _HAS_IDS else {"topic_id": topic.topic_id}


def _denial(permissions: Permissions, operation: Operation, name: str | None) -> ErrorCode:
    """Return why a caller may not use a topic; NONE if he may, or there is none."""
    is_permitted = name is None or permissions.may(operation, ResourceType.TOPIC, name)
    return ErrorCode.NONE if is_permitted else ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _unknown(name: str | None) -> ErrorCode:
    """Return what is said of a partition that is not there, by whether its topic was named by an unknown id."""
    return ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _committed(
    topic: Any, name: str | None, errors: Mapping[TopicPartition, ErrorCode], version: int, denial: ErrorCode
) -> dict[str, Any]:
    """Return what has become of the commits for a topic; those without an error were not made, for `denial`."""
    unknown = denial or _unknown(name)
    partitions = [
        {
            "partition_index": each.partition_index,
            "error_code": errors.get(TopicPartition(name or "", each.partition_index), unknown),
        }
        for each in topic.partitions
    ]
    return _reference(topic, version) | {"partitions": partitions}


def _group_error(asked: Any, version: int, error: ErrorCode) -> dict[str, Any]:
    """Return that a group is refused: once, or with each partition where the version has no error of the group."""
    named = () if version >= _TELLS_GROUP_ERROR else asked.topics
    topics = [_fetched_topic(topic, topic.name, {}, version, error) for topic in named]
    return {"group_id": asked.group_id, "topics": topics, "error_code": error}


def _fetched_topic(
    topic: Any,
    name: str | None,
    committed: Mapping[TopicPartition, OffsetCommit],
    version: int,
    denial: ErrorCode,
) -> dict[str, Any]:
    error = _unknown(name) if name is None else denial
    if error is not ErrorCode.NONE:
        committed = {}
    partitions = [
        _fetched_partition(index, committed.get(TopicPartition(name or "", index), _NOTHING), error)
        for index in topic.partition_indexes
    ]
    return _reference(topic, version) | {"partitions": partitions}


def _all_fetched(
    committed: Mapping[TopicPartition, OffsetCommit], topics: Topics, version: int
) -> list[dict[str, Any]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for (topic, index), commit in committed.items():
        found.setdefault(topic, []).append(_fetched_partition(index, commit, ErrorCode.NONE))
    if version < _HAS_IDS:
        return [{"name": topic, "partitions": partitions} for topic, partitions in found.items()]
    return [
        {"topic_id": topics.by_name[topic].id, "partitions": partitions}
        for topic, partitions in found.items()
        if topic in topics.by_name
    ]


def _fetched_partition(index: int, commit: OffsetCommit, error: ErrorCode) -> dict[str, Any]:
    return {
        "partition_index": index,
        "committed_offset": commit.offset,
        "committed_leader_epoch": commit.leader_epoch,
        "metadata": commit.metadata,
        "error_code": error,
    }
