"""Answers Metadata: the brokers, and who leads the partitions of topics."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias
from uuid import UUID

from replication.broker.requests.cluster.image_view import ImageView
from replication.broker.requests.cluster.permitted_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, told
from replication.broker.requests.cluster.topic_name import INTERNAL_TOPICS, missing_topic
from replication.broker.requests.known_cluster import KnownCluster
from replication.metadata.image import ClusterImage
from replication.metadata.topics import Topic
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.metadata import ClusterMetadata, MetadataRequest, TopicMetadata
from replication.server.call import Call

_SINCE_LISTENER_ERRORS: Final = 6

CreateTopics: TypeAlias = Callable[[Sequence[str]], None]
"""Makes topics of the names that topics may have; where it cannot, they are not there afterwards."""


class DescribedTopics:
    """Tells of topics by name or by id (Kafka: KafkaApis.handleTopicMetadataRequest)."""

    def __init__(self, cluster: KnownCluster, create: CreateTopics | None = None) -> None:
        """Tell of this cluster. `create` makes topics that are asked for and may be created; by default nobody does.

        They are told as unknown until this broker knows of them: clients ask again.
        """
        self._cluster = cluster
        self._create = create

    def answer(self, request: MetadataRequest, call: Call) -> ClusterMetadata:
        """Answer as of now."""
        image = self._made(request)
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

    def _made(self, request: MetadataRequest) -> ClusterImage:
        """Return the metadata, with what is asked for and was not there if it may be created, and is known by now."""
        image = self._cluster.image()
        if self._create is None or not request.allow_auto_topic_creation:
            return image
        missing = [name for name in request.topics or () if name not in image.topics.by_name]
        if not missing:
            return image
        self._create(missing)
        return self._cluster.image()


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
