"""Answers Metadata: the brokers, and who leads the partitions of topics."""

from typing import Final
from uuid import UUID

from replication.broker.requests.cluster.image_view import ImageView
from replication.broker.requests.cluster.permitted_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, told
from replication.broker.requests.cluster.topic_name import INTERNAL_TOPICS, missing_topic
from replication.broker.requests.known_cluster import KnownCluster
from replication.metadata.topics import Topic
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.metadata import ClusterMetadata, MetadataRequest, TopicMetadata
from replication.server.call import Call

_SINCE_LISTENER_ERRORS: Final = 6


class DescribedTopics:
    """Tells of topics by name or by id, and creates none (Kafka: KafkaApis.handleTopicMetadataRequest)."""

    def __init__(self, cluster: KnownCluster) -> None:
        """Tell of this cluster."""
        self._cluster = cluster

    def answer(self, request: MetadataRequest, call: Call) -> ClusterMetadata:
        """Answer as of now."""
        image = self._cluster.image()
        view = ImageView(image, call.caller.listener)
        names = tuple(image.topics.by_name) if request.topics is None else request.topics
        if request.topic_ids:
            names = tuple(image.topics.by_id[each].name for each in request.topic_ids if each in image.topics.by_id)
        asked = request.include_topic_authorized_operations
        topics = {name: _topic(view, image.topics.by_name.get(name), name, call.version, asked=asked) for name in names}
        return ClusterMetadata(
            cluster_id=self._cluster.id,
            controller_id=min(view.alive, default=-1),
            brokers=view.alive,
            topics=topics,
            unnamed=tuple(
                TopicMetadata(error=ErrorCode.UNKNOWN_TOPIC_ID, topic_id=each, partitions={})
                for each in dict.fromkeys(request.topic_ids)
                if each not in image.topics.by_id and each != UUID(int=0)
            ),
            authorized_operations=told(CLUSTER_OPERATIONS, asked=request.include_cluster_authorized_operations),
        )


def _topic(view: ImageView, topic: Topic | None, name: str, version: int, *, asked: bool) -> TopicMetadata:
    operations = told(TOPIC_OPERATIONS, asked=asked)
    if topic is None:
        return TopicMetadata(
            error=missing_topic(name),
            is_internal=name in INTERNAL_TOPICS,
            partitions={},
            authorized_operations=operations,
        )
    return TopicMetadata(
        topic_id=topic.id,
        is_internal=name in INTERNAL_TOPICS,
        partitions={
            index: view.partition(known, only_reachable=version == 0, names_listeners=version >= _SINCE_LISTENER_ERRORS)
            for index, known in topic.partitions.items()
        },
        authorized_operations=operations,
    )
