"""Requests about what groups have committed: OffsetCommit and OffsetFetch."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from logstore import TopicPartition
from logstore.clock import now_ms
from replication.broker.groups.coordinator import GroupCoordinator
from replication.broker.groups.requests.kio_answer import kio_answer
from replication.coordinator_records.offset_commit import OffsetCommit
from replication.metadata.image import ClusterImage
from replication.metadata.topics import Topics
from replication.protocol.error_code import ErrorCode
from replication.server.call import Call

OFFSET_COMMIT: Final = 8
OFFSET_FETCH: Final = 9

_NAMES_GROUPS: Final = 8
"""The first version of OffsetFetch that asks about several groups."""
_KNOWS_LOST_GROUPS: Final = 9
"""The first version of OffsetCommit that tells a member that its group is not there."""
_HAS_IDS: Final = 10
"""The first version of both that names topics by their ids."""
_NOTHING: Final = OffsetCommit(offset=-1)


class OffsetRequests:
    """Answers them in kio's terms; nothing is ever pending, as no transaction commits here."""

    def __init__(self, coordinator: GroupCoordinator, image: Callable[[], ClusterImage]) -> None:
        """`image` gives the cluster's topics."""
        self._coordinator = coordinator
        self._image = image

    def commit(self, request: Any, call: Call) -> Any:
        """Answer OffsetCommit: what is committed for topics that are there counts, as far as it is allowed."""
        topics = self._image().topics
        named = [(topic, _named(topic, call.version, topics)) for topic in request.topics]
        now = now_ms()
        commits = {
            TopicPartition(name, each.partition_index): _commit(each, now)
            for topic, name in named
            for each in topic.partitions
            if name in topics.by_name and each.partition_index in topics.by_name[name].partitions
        }
        errors = self._commit(request, commits, call.version) if commits else {}
        answers = [
            _committed(topic, name, errors, call.version)
            for topic, name in named
            if topic.partitions or name not in topics.by_name  # as Kafka leaves out the others
        ]
        return kio_answer(OFFSET_COMMIT, call.version, {"topics": answers})

    def fetch(self, request: Any, call: Call) -> Any:
        """Answer OffsetFetch, for one group or, in later versions, for several."""
        if call.version < _NAMES_GROUPS:
            topics = self._fetched(request.group_id, request.topics, call.version)
            return kio_answer(OFFSET_FETCH, call.version, {"topics": topics, "error_code": ErrorCode.NONE})
        groups = [
            {"group_id": each.group_id, "topics": self._fetched(each.group_id, each.topics, call.version)}
            for each in request.groups
        ]
        return kio_answer(OFFSET_FETCH, call.version, {"groups": groups})

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

    def _fetched(self, group_id: str, asked: Iterable[Any] | None, version: int) -> list[dict[str, Any]]:
        committed = self._coordinator.committed(group_id)
        topics = self._image().topics
        if asked is None:
            return _all_fetched(committed, topics, version)
        return [_fetched_topic(topic, _named(topic, version, topics), committed, version) for topic in asked]


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


def _unknown(name: str | None) -> ErrorCode:
    """Return what is said of a partition that is not there, by whether its topic was named by an unknown id."""
    return ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _committed(
    topic: Any, name: str | None, errors: Mapping[TopicPartition, ErrorCode], version: int
) -> dict[str, Any]:
    unknown = _unknown(name)
    partitions = [
        {
            "partition_index": each.partition_index,
            "error_code": errors.get(TopicPartition(name or "", each.partition_index), unknown),
        }
        for each in topic.partitions
    ]
    return _reference(topic, version) | {"partitions": partitions}


def _fetched_topic(
    topic: Any, name: str | None, committed: Mapping[TopicPartition, OffsetCommit], version: int
) -> dict[str, Any]:
    error = _unknown(name) if name is None else ErrorCode.NONE
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
