"""Answers Metadata: the brokers, and who leads the partitions of topics."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, TypeAlias
from uuid import UUID

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import Permissions, PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.requests.cluster.image_view import ImageView
from replication.cluster.broker.requests.cluster.permitted_operations import told_of_cluster, told_of_topic
from replication.cluster.broker.requests.cluster.topic_name import INTERNAL_TOPICS, missing_topic
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.topics import Topic
from replication.wire.error_code import ErrorCode
from replication.wire.messages.metadata import ClusterMetadata, MetadataRequest, TopicMetadata
from replication.wire.server.call import Call

_SINCE_LISTENER_ERRORS: Final = 6

CreateTopics: TypeAlias = Callable[[Sequence[str], Call], None]
"""Makes topics of the names that topics may have; where it cannot, they are not there afterwards."""


class DescribedTopics:
    """Describes topics by name or by id (Kafka: KafkaApis.handleTopicMetadataRequest)."""

    def __init__(
        self, cluster: KnownCluster, create: CreateTopics | None = None, permissions: PermissionsOf = unlimited
    ) -> None:
        """Describe this cluster. `create` creates topics that are requested and may be created; by default none are.

        They are answered as unknown until this broker knows of them: clients ask again. A caller who may not describe a
        topic does not learn whether it is there.
        """
        self._cluster = cluster
        self._create = create
        self._permissions = permissions

    def answer(self, request: MetadataRequest, call: Call) -> ClusterMetadata:
        """Answer as of now."""
        permissions, image = self._permissions(call.caller), self._cluster.image()
        names = _names(request, image)
        permitted = permissions.those(Operation.DESCRIBE, ResourceType.TOPIC, names)
        hidden: Collection[str] = () if len(permitted) == len(names) else set(names).difference(permitted)
        image, uncreated = self._created(request, call, permitted, permissions, image)
        view = ImageView(image, call.caller.listener)
        asked = request.include_topic_authorized_operations
        topics = {
            name: _topic(
                view,
                image.topics.by_name.get(name),
                name,
                call.version,
                told_of_topic(permissions, name, asked=asked),
            )
            for name in permitted
        }
        topics.update((name, _denied(is_internal=name in INTERNAL_TOPICS)) for name in uncreated)
        if request.topics is not None and not request.topic_ids:
            topics.update((name, _denied()) for name in hidden)
        return ClusterMetadata(
            cluster_id=self._cluster.id,
            controller_id=min(view.alive, default=-1),
            brokers=view.alive,
            topics=topics,
            unnamed=tuple(_unnamed(request, image, hidden)),
            authorized_operations=told_of_cluster(permissions, asked=request.include_cluster_authorized_operations),
        )

    def _created(
        self, request: MetadataRequest, call: Call, names: Sequence[str], permissions: Permissions, image: ClusterImage
    ) -> tuple[ClusterImage, Collection[str]]:
        """Return the metadata, with what was not there if it may be created and is known by now, and what may not."""
        if self._create is None or not request.allow_auto_topic_creation or request.topics is None:
            return image, ()
        missing = [name for name in names if name not in image.topics.by_name]
        if not missing:
            return image, ()
        creatable: Sequence[str] = missing
        if not permissions.may(Operation.CREATE, ResourceType.CLUSTER):
            creatable = permissions.those(Operation.CREATE, ResourceType.TOPIC, missing)
        if creatable:
            self._create(creatable, call)
        return self._cluster.image(), set(missing).difference(creatable)


def _names(request: MetadataRequest, image: ClusterImage) -> Sequence[str]:
    """Return what is asked for by name, each once, however often it is named."""
    if request.topic_ids:
        named = dict.fromkeys(request.topic_ids)
        return tuple(image.topics.by_id[each].name for each in named if each in image.topics.by_id)
    return tuple(image.topics.by_name if request.topics is None else dict.fromkeys(request.topics))


def _topic(view: ImageView, topic: Topic | None, name: str, version: int, operations: int) -> TopicMetadata:
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


def _unnamed(request: MetadataRequest, image: ClusterImage, hidden: Collection[str]) -> Iterator[TopicMetadata]:
    """Yield what is answered of topics that were asked about by ids, and are not there or not to be named."""
    for each in dict.fromkeys(request.topic_ids):
        topic = image.topics.by_id.get(each)
        if topic is not None and topic.name in hidden:
            yield _denied(topic_id=each)
        elif topic is None and each != UUID(int=0):
            yield TopicMetadata(error=ErrorCode.UNKNOWN_TOPIC_ID, topic_id=each, partitions={})


def _denied(*, topic_id: UUID | None = None, is_internal: bool = False) -> TopicMetadata:
    return TopicMetadata(
        error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic_id=topic_id, is_internal=is_internal, partitions={}
    )
