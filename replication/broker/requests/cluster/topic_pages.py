"""Answers DescribeTopicPartitions: topics in the order of their names, page by page (KIP-966)."""

from collections.abc import Iterator, Sequence
from typing import Final

from replication.broker.requests.cluster.image_view import ImageView
from replication.broker.requests.cluster.permitted_operations import TOPIC_OPERATIONS
from replication.broker.requests.cluster.topic_name import INTERNAL_TOPICS, missing_topic
from replication.broker.requests.known_cluster import KnownCluster
from replication.metadata.topics import Topic
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicPartitionsPage,
)
from replication.protocol.messages.metadata import TopicMetadata
from replication.server.call import Call

PARTITIONS_PER_PAGE: Final = 2_000
"""Kafka: max.request.partition.size.limit."""


class TopicPages:
    """Tells of topics from a cursor on (Kafka: DescribeTopicPartitionsRequestHandler)."""

    def __init__(self, cluster: KnownCluster) -> None:
        """Tell of this cluster."""
        self._cluster = cluster

    def answer(self, request: DescribeTopicPartitionsRequest, call: Call) -> TopicPartitionsPage:
        """Return a page, which ends within a topic where it is full."""
        image, cursor = self._cluster.image(), request.cursor
        view = ImageView(image, call.caller.listener)
        topics: dict[str, TopicMetadata] = {}
        room = max(1, min(PARTITIONS_PER_PAGE, request.partition_limit))
        for name in self._names(request):
            if not room:
                return TopicPartitionsPage(topics=topics, next_cursor=Cursor(name, 0))
            topic = image.topics.by_name.get(name)
            if topic is None:
                if request.topics:
                    topics[name] = _missing(name)
                continue
            start = cursor.partition if cursor is not None and cursor.topic == name else 0
            # Where only copies tell of a topic, some of its partitions may not be known.
            left = [index for index in sorted(topic.partitions) if index >= start]
            topics[name] = _part(view, topic, left[:room])
            if len(left) > room:
                return TopicPartitionsPage(topics=topics, next_cursor=Cursor(name, left[room]))
            room -= len(left)
        return TopicPartitionsPage(topics=topics, next_cursor=None)

    def _names(self, request: DescribeTopicPartitionsRequest) -> Iterator[str]:
        first = "" if request.cursor is None else request.cursor.topic
        return (name for name in sorted(set(request.topics) or self._cluster.image().topics.by_name) if name >= first)


def _part(view: ImageView, topic: Topic, indexes: Sequence[int]) -> TopicMetadata:
    return TopicMetadata(
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        # It has no errors of partitions: who has no leader is told so by -1.
        partitions={index: view.partition(topic.partitions[index])._replace(error=ErrorCode.NONE) for index in indexes},
        authorized_operations=TOPIC_OPERATIONS,
    )


def _missing(name: str) -> TopicMetadata:
    return TopicMetadata(
        error=missing_topic(name),
        is_internal=name in INTERNAL_TOPICS,
        partitions={},
        authorized_operations=TOPIC_OPERATIONS,
    )
