"""Topics that clients ask for before anybody has made them (Kafka: AutoTopicCreationManager)."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Final

from logstore.topic_partition import METADATA_TOPIC
from replication.broker.requests.cluster.topic_name import INTERNAL_TOPICS, missing_topic
from replication.errors import ReplicationError
from replication.protocol.error_code import ErrorCode
from replication.protocol.wire.kio_messages import request_classes
from replication.server.call import Call
from replication.server.served_api import ServedApi

CREATE_TOPICS: Final = 19
_NOT_MADE: Final = INTERNAL_TOPICS | {METADATA_TOPIC}
_BY_DEFAULT: Final = -1
_TIMEOUT: Final = timedelta(seconds=5)


def create_missing(create: ServedApi, names: Iterable[str], call: Call) -> None:
    """Make topics with default counts, of those names that a topic may have; internal ones are left to their owners.

    `create` is what answers CreateTopics, as asked by the caller who has named them in `call`. What cannot be made, as
    too few brokers live, is not there: clients ask again.
    """
    version = create.versions.stop - 1
    classes = request_classes(CREATE_TOPICS, version)
    topics = tuple(
        classes.CreatableTopic(
            name=name, num_partitions=_BY_DEFAULT, replication_factor=_BY_DEFAULT, assignments=(), configs=()
        )
        for name in dict.fromkeys(names)
        if name not in _NOT_MADE and missing_topic(name) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    if topics:
        request = classes.CreateTopicsRequest(topics=topics, timeout=_TIMEOUT, validate_only=False)
        with suppress(ReplicationError, OSError):
            create.answer(request, call._replace(version=version))
