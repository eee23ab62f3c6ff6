"""Topics that clients ask for before anybody has made them (Kafka: AutoTopicCreationManager)."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from logstore.topic_partition import METADATA_TOPIC
from replication.broker.requests.cluster.topic_name import INTERNAL_TOPICS, missing_topic
from replication.controller.controller import Controller
from replication.controller.decision import Decision
from replication.controller.refusal import Refusal
from replication.controller.topics.topics import NewTopic, TopicAnswer
from replication.protocol.error_code import ErrorCode
from replication.standalone.errors import ControllerFailedError, ControllerUnreachableError
from replication.standalone.reached_controller import ReachedController

_NOT_MADE: Final = INTERNAL_TOPICS | {METADATA_TOPIC}


def create_missing(controller: ReachedController, names: Iterable[str]) -> None:
    """Make topics with default counts, of those names that a topic may have; internal ones are left to their owners.

    What cannot be made, as too few brokers live, is not there: clients ask again.
    """
    allowed = [
        NewTopic(name)
        for name in dict.fromkeys(names)
        if name not in _NOT_MADE and missing_topic(name) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
    with suppress(Refusal, ControllerFailedError, ControllerUnreachableError):
        controller.decide(lambda deciding: _decide(deciding, allowed))


def _decide(deciding: Controller, topics: Sequence[NewTopic]) -> Decision[list[TopicAnswer]]:
    known = deciding.cluster.image.topics.by_name
    return deciding.create_topics([topic for topic in topics if topic.name not in known])
