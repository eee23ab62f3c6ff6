"""Answers DescribeTopicPartitions: topics in the order of their names, page by page (KIP-966)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import Permissions, PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.requests.cluster.image_view import ImageView
from replication.cluster.broker.requests.cluster.permitted_operations import told_of_topic
from replication.cluster.broker.requests.cluster.topic_name import INTERNAL_TOPICS, missing_topic
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.records.metadata.topics import Topic
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicPartitionsPage,
)
from replication.wire.messages.metadata import TopicMetadata
from replication.wire.server.call import Call

PARTITIONS_PER_PAGE: Final = 2_000
"""Kafka: max.request.partition.size.limit."""
_INVALID: Final = TopicMetadata(error=ErrorCode.INVALID_REQUEST, partitions={})
_DENIED: Final = TopicMetadata(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, partitions={})


class TopicPages:
    """Describes topics from a cursor on (Kafka: DescribeTopicPartitionsRequestHandler)."""

    def __init__(self, cluster: KnownCluster, permissions: PermissionsOf = unlimited) -> None:
        """Describe this cluster, and each topic to those who may describe it."""
        self._cluster = cluster
        self._permissions = permissions

    def answer(self, request: DescribeTopicPartitionsRequest, call: Call) -> TopicPartitionsPage:
        """Return a page, which ends within a topic where it is full."""
        if request.topics and request.cursor is not None and request.cursor.topic not in request.topics:
            return TopicPartitionsPage(topics=dict.fromkeys(request.topics, _INVALID), next_cursor=None)
        permissions, names = self._permissions(call.caller), self._names(request)
        permitted = permissions.those(Operation.DESCRIBE, ResourceType.TOPIC, names)
        page = self._page(request, permitted, call, permissions)
        if len(permitted) == len(names) or not request.topics:
            return page
        denied = sorted(set(names).difference(permitted))
        return replace(page, topics={**page.topics, **dict.fromkeys(denied, _DENIED)})

    def _page(
        self, request: DescribeTopicPartitionsRequest, names: Sequence[str], call: Call, permissions: Permissions
    ) -> TopicPartitionsPage:
        image, cursor = self._cluster.image(), request.cursor
        view = ImageView(image, call.caller.listener)
        topics: dict[str, TopicMetadata] = {}
        room = max(1, min(PARTITIONS_PER_PAGE, request.partition_limit))
        for name in names:
            if not room:
                return TopicPartitionsPage(topics=topics, next_cursor=Cursor(name, 0))
            topic = image.topics.by_name.get(name)
            operations = told_of_topic(permissions, name, asked=True)
            if topic is None:
                if request.topics:
                    topics[name] = _missing(name, operations)
                continue
            start = cursor.partition if cursor is not None and cursor.topic == name else 0
            # Where only copies tell of a topic, some of its partitions may not be known.
            left = [index for index in sorted(topic.partitions) if index >= start]
            topics[name] = _part(view, topic, left[:room], operations)
            if len(left) > room:
                return TopicPartitionsPage(topics=topics, next_cursor=Cursor(name, left[room]))
            room -= len(left)
        return TopicPartitionsPage(topics=topics, next_cursor=None)

    def _names(self, request: DescribeTopicPartitionsRequest) -> Sequence[str]:
        first = "" if request.cursor is None else request.cursor.topic
        return [name for name in sorted(set(request.topics) or self._cluster.image().topics.by_name) if name >= first]


def _part(view: ImageView, topic: Topic, indexes: Sequence[int], operations: int) -> TopicMetadata:
    return TopicMetadata(
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        # It has no errors of partitions: who has no leader is told so by -1.
        partitions={index: view.partition(topic.partitions[index])._replace(error=ErrorCode.NONE) for index in indexes},
        authorized_operations=operations,
    )


def _missing(name: str, operations: int) -> TopicMetadata:
    return TopicMetadata(
        error=missing_topic(name),
        is_internal=name in INTERNAL_TOPICS,
        partitions={},
        authorized_operations=operations,
    )
