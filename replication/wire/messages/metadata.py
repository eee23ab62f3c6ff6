"""Metadata: a cluster's brokers and topics, and who leads each partition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple
from uuid import UUID

from replication.records.codec.codec import Since, Structs, Until
from replication.records.codec.fields import NO_ID, Bool, Int16, Int32, Int32s, OptionalString, String, Uuid
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.field_types import OPERATIONS_NOT_ASKED
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class Broker(NamedTuple):
    """A broker as clients reach it (Kafka: Node)."""

    id: int
    host: str
    port: int
    rack: str | None = None


class PartitionMetadata(NamedTuple):
    """Who leads a partition, and who holds a replica."""

    error: ErrorCode
    leader_id: int
    """-1 if there is no leader."""
    leader_epoch: int = -1
    """-1 below version 7."""
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    """Replicas on brokers that are down, or on failed disks (v5)."""
    elr: tuple[int, ...] | None = None
    """Not in sync, yet known to have all that is committed (KIP-966); only DescribeTopicPartitions returns them."""
    last_known_elr: tuple[int, ...] | None = None
    """As above: the last to have been eligible, where none is any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata:
    """One topic, or the error why it cannot be described."""

    error: ErrorCode = ErrorCode.NONE
    topic_id: UUID | None = None
    """None below version 10."""
    is_internal: bool = False
    partitions: Mapping[int, PartitionMetadata]
    authorized_operations: int = OPERATIONS_NOT_ASKED
    """The operations that the client may perform on it, one bit for each operation (KIP-430; v8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetadata:
    """The response to a MetadataRequest (Kafka: MetadataResponse)."""

    cluster_id: str | None
    controller_id: int
    """A broker that forwards to the controller, or -1."""
    brokers: Mapping[int, Broker]
    topics: Mapping[str, TopicMetadata]
    throttle_time_ms: int = 0
    error: ErrorCode = ErrorCode.NONE
    """REBOOTSTRAP_REQUIRED where nothing known of the cluster holds any more (KIP-1102; v13)."""
    unnamed: tuple[TopicMetadata, ...] = ()
    """Topics that were asked about by ids that no topic has (v12)."""
    authorized_operations: int = OPERATIONS_NOT_ASKED
    """The operations that the client may perform on the cluster (v8 to v10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest(Request[ClusterMetadata]):
    """Asks about topics by name; by default creates none (Kafka: MetadataRequest)."""

    topics: tuple[str, ...] | None
    """None: all topics; empty: only the brokers."""
    topic_ids: tuple[UUID, ...] = ()
    """Of more topics (v12)."""
    allow_auto_topic_creation: bool = False
    """Whether topics that do not exist are created; below version 4 they always are."""
    include_topic_authorized_operations: bool = False
    include_cluster_authorized_operations: bool = False


API_KEY: Final = 3
VERSIONS: Final = range(4, 14)
"""4 is the first that does not create the topics that it is asked about (Kafka 0.11)."""

SERVED: Final = range(14)
"""With those that only other clients use."""

_SINCE_IDS: Final = 12
_FLEXIBLE_SINCE: Final = 9


def metadata_versions(request: MetadataRequest) -> range:
    """Return the versions that can carry a request: older ones do not know topics by their ids."""
    return range(_SINCE_IDS, VERSIONS.stop) if request.topic_ids else VERSIONS


class _RequestTopic(NamedTuple):
    id: Annotated[Uuid, Since(10, ignorable=True)] = NO_ID
    name: OptionalString = None


class _Request(NamedTuple):
    topics: Annotated[tuple[_RequestTopic, ...] | None, Structs(_RequestTopic, optional=True)]
    allow_auto_topic_creation: Annotated[Bool, Since(4)] = True
    include_cluster_authorized_operations: Annotated[Bool, Since(8), Until(10)] = False
    include_topic_authorized_operations: Annotated[Bool, Since(8)] = False


class _Broker(NamedTuple):
    node_id: Int32
    host: String
    port: Int32
    rack: Annotated[OptionalString, Since(1, ignorable=True)] = None


class _Partition(NamedTuple):
    error: Int16
    partition: Int32
    leader_id: Int32
    leader_epoch: Annotated[Int32, Since(7, ignorable=True)] = -1
    replicas: Int32s = ()
    isr: Int32s = ()
    offline: Annotated[Int32s, Since(5, ignorable=True)] = ()


class _Topic(NamedTuple):
    error: Int16
    name: OptionalString
    id: Annotated[Uuid, Since(10, ignorable=True)] = NO_ID
    is_internal: Annotated[Bool, Since(1, ignorable=True)] = False
    partitions: Annotated[tuple[_Partition, ...], Structs(_Partition)] = ()
    authorized_operations: Annotated[Int32, Since(8, ignorable=True)] = OPERATIONS_NOT_ASKED


class _Response(NamedTuple):
    throttle_time_ms: Annotated[Int32, Since(3, ignorable=True)] = 0
    brokers: Annotated[tuple[_Broker, ...], Structs(_Broker)] = ()
    cluster_id: Annotated[OptionalString, Since(2, ignorable=True)] = None
    controller_id: Annotated[Int32, Since(1, ignorable=True)] = -1
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)] = ()
    authorized_operations: Annotated[Int32, Since(8, ignorable=True), Until(10)] = OPERATIONS_NOT_ASKED
    error: Annotated[Int16, Since(13, ignorable=True)] = 0


def _encode_request(request: MetadataRequest, version: int) -> _Request:
    topics = None if request.topics is None else [_RequestTopic(name=name) for name in request.topics]
    if request.topic_ids:
        topics = [*(topics or ()), *(_RequestTopic(topic_id) for topic_id in request.topic_ids)]
    if version == 0 and topics is None:
        topics = []
    return _Request(
        topics if topics is None else tuple(topics),
        request.allow_auto_topic_creation,
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
    )


def _decode_request(fields: _Request, version: int) -> MetadataRequest:
    # In version 0, which has no null, no topics stand for all.
    everything = fields.topics is None or (version == 0 and not fields.topics)
    topics = fields.topics or ()
    return MetadataRequest(
        topics=None if everything else tuple(topic.name for topic in topics if topic.name is not None),
        topic_ids=tuple(topic.id for topic in topics if topic.name is None),
        allow_auto_topic_creation=fields.allow_auto_topic_creation,
        include_topic_authorized_operations=fields.include_topic_authorized_operations,
        include_cluster_authorized_operations=fields.include_cluster_authorized_operations,
    )


def _encode_response(response: ClusterMetadata, _: int) -> _Response:
    topics = [*response.topics.items(), *((None, topic) for topic in response.unnamed)]
    return _Response(
        response.throttle_time_ms,
        tuple(_Broker(*broker) for broker in response.brokers.values()),
        response.cluster_id,
        response.controller_id,
        tuple(_encode_topic(name, topic) for name, topic in topics),
        response.authorized_operations,
        response.error,
    )


def _encode_topic(name: str | None, topic: TopicMetadata) -> _Topic:
    partitions = tuple(
        _Partition(each.error, index, each.leader_id, each.leader_epoch, each.replicas, each.isr, each.offline)
        for index, each in topic.partitions.items()
    )
    topic_id = topic.topic_id or NO_ID
    return _Topic(topic.error, name, topic_id, topic.is_internal, partitions, topic.authorized_operations)


def _decode_response(fields: _Response, _: int) -> ClusterMetadata:
    topics = [(topic.name, _decode_topic(topic)) for topic in fields.topics]
    return ClusterMetadata(
        cluster_id=fields.cluster_id,
        controller_id=fields.controller_id,
        brokers={broker.node_id: Broker(*broker) for broker in fields.brokers},
        topics={name: topic for name, topic in topics if name is not None},
        throttle_time_ms=fields.throttle_time_ms,
        error=code_of(fields.error),
        unnamed=tuple(topic for name, topic in topics if name is None),
        authorized_operations=fields.authorized_operations,
    )


def _decode_topic(topic: _Topic) -> TopicMetadata:
    return TopicMetadata(
        error=code_of(topic.error),
        topic_id=topic.id if topic.id.int else None,
        is_internal=topic.is_internal,
        partitions={
            index: PartitionMetadata(code_of(error), leader_id, leader_epoch, replicas, isr, offline)
            for error, index, leader_id, leader_epoch, replicas, isr, offline in topic.partitions
        },
        authorized_operations=topic.authorized_operations,
    )


REQUEST: Final = Form("MetadataRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("MetadataResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
