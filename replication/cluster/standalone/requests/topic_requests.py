"""Requests about topics: CreateTopics, DeleteTopics and CreatePartitions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import UUID

from logstore.topic_partition import METADATA_TOPIC
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.controller.controller import Controller
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.topics import MorePartitions, NewTopic, TopicAnswer
from replication.cluster.standalone.static_controller import StaticController
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.server.call import Call

CREATE_TOPICS: Final = 19
DELETE_TOPICS: Final = 20
CREATE_PARTITIONS: Final = 37

_NAMES_IDS: Final = 6
"""The first version of DeleteTopics that may name topics by their ids."""


class TopicRequests:
    """Answers them in kio's terms."""

    def __init__(self, controller: StaticController) -> None:
        """Pass them on to this controller."""
        self._controller: Final = controller

    def create(self, request: Any, call: Call) -> Any:
        """Answer CreateTopics."""
        faults = [_fault(topic) for topic in request.topics]
        wanted = [new_topic_of(topic) for topic, fault in zip(request.topics, faults, strict=True) if fault is None]
        answers = [fault for fault in faults if fault is not None]
        try:
            answers += self._controller.decide(
                lambda deciding: deciding.create_topics(wanted, validate_only=request.validate_only)
            )
        except Refusal as refusal:
            answers += _refused((topic.name for topic in wanted), refusal)
        return kio_answer(CREATE_TOPICS, call.version, {"topics": [creation_told(each) for each in answers]})

    def enlarge(self, request: Any, call: Call) -> Any:
        """Answer CreatePartitions."""
        wanted = [more_partitions_of(topic) for topic in request.topics]
        try:
            answers = self._controller.decide(
                lambda deciding: deciding.add_partitions(wanted, validate_only=request.validate_only)
            )
        except Refusal as refusal:
            answers = _refused((topic.name for topic in wanted), refusal)
        return kio_answer(CREATE_PARTITIONS, call.version, {"results": [enlargement_told(each) for each in answers]})

    def delete(self, request: Any, call: Call) -> Any:
        """Answer DeleteTopics."""
        if call.version < _NAMES_IDS:
            told: list[dict[str, Any]] = []
            named: list[str | UUID] = list(request.topic_names)
        else:
            told = [_unnamed(topic) for topic in request.topics if _is_unnamed(topic)]
            named = [topic.topic_id or topic.name for topic in request.topics if not _is_unnamed(topic)]
        told += self._controller.decide(lambda deciding: _deleted(deciding, named))
        return kio_answer(DELETE_TOPICS, call.version, {"responses": told})


def _fault(topic: Any) -> TopicAnswer | None:
    """Return why a topic cannot be created; None where the controller decides on that."""
    if topic.name == METADATA_TOPIC:
        message = f"Creation of internal topic {METADATA_TOPIC} is prohibited."
        return TopicAnswer(topic.name, ErrorCode.INVALID_REQUEST, message)
    times = Counter(each.partition_index for each in topic.assignments)
    twice = next((number for number, count in times.items() if count > 1), None)
    if twice is not None:
        message = f"Found multiple manual partition assignments for partition {twice}"
        return TopicAnswer(topic.name, ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return None


def new_topic_of(topic: Any) -> NewTopic:
    """Return a topic that CreateTopics asks for."""
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        {each.partition_index: tuple(each.broker_ids) for each in topic.assignments},
        {each.name: each.value for each in topic.configs},
    )


def more_partitions_of(topic: Any) -> MorePartitions:
    """Return what CreatePartitions asks for a topic."""
    assignments = None if topic.assignments is None else [tuple(each.broker_ids) for each in topic.assignments]
    return MorePartitions(topic.name, topic.count, assignments)


def enlargement_told(answer: TopicAnswer) -> dict[str, Any]:
    """Return an answer as one of CreatePartitions."""
    return {"name": answer.topic, "error_code": answer.error, "error_message": answer.message}


def _refused(names: Iterable[str], refusal: Refusal) -> list[TopicAnswer]:
    return [TopicAnswer(name, refusal.code, refusal.message) for name in dict.fromkeys(names)]


def creation_told(answer: TopicAnswer) -> dict[str, Any]:
    """Return an answer as one of CreateTopics."""
    configs = [
        {
            "name": each.name,
            "value": each.value,
            "read_only": False,
            "config_source": each.source,
            "is_sensitive": False,
        }
        for each in answer.settings
    ]
    return {
        "name": answer.topic,
        "topic_id": answer.topic_id,
        "error_code": answer.error,
        "error_message": answer.message,
        "num_partitions": answer.partitions,
        "replication_factor": answer.replication_factor,
        "configs": configs,
    }


def _is_unnamed(topic: Any) -> bool:
    """Whether a topic is named in no way, or in two."""
    return (topic.name is None) == (topic.topic_id is None)


def _unnamed(topic: Any) -> dict[str, Any]:
    neither = "Neither topic name nor id were specified."
    message = neither if topic.name is None else "You may not specify both topic name and topic id."
    return deletion_told(topic.name, topic.topic_id, ErrorCode.INVALID_REQUEST, message)


def _deleted(deciding: Controller, named: Sequence[str | UUID]) -> Decision[list[dict[str, Any]]]:
    """Decide on deletions, with answers that have both name and id of what is deleted."""
    decision = deciding.delete_topics(named)
    by_id = deciding.cluster.image.topics.by_id
    told = []
    for answer in decision.answer:
        name, topic_id = (answer.topic, None) if isinstance(answer.topic, str) else (None, answer.topic)
        if answer.topic_id is not None:
            name, topic_id = by_id[answer.topic_id].name, answer.topic_id
        told.append(deletion_told(name, topic_id, answer.error, answer.message or message_of(answer.error)))
    return Decision(decision.records, told)


def deletion_told(name: str | None, topic_id: UUID | None, error: ErrorCode, message: str | None) -> dict[str, Any]:
    """Return an answer as one of DeleteTopics."""
    return {"name": name, "topic_id": topic_id, "error_code": error, "error_message": message}
