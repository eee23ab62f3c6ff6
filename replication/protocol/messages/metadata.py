"""Metadata: a cluster's brokers and topics, and who leads each partition."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.messages.request import Request


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
    """-1 where nobody leads."""
    leader_epoch: int = -1
    """-1 below version 7."""
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    """Replicas on brokers that are down, or on failed disks (v5)."""
    elr: tuple[int, ...] | None = None
    """Not in sync, yet known to have all that is committed (KIP-966); only DescribeTopicPartitions tells."""
    last_known_elr: tuple[int, ...] | None = None
    """As above: the last to have been eligible, where none is any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata:
    """One topic, or why nothing can be told of it."""

    error: ErrorCode = ErrorCode.NONE
    topic_id: UUID | None = None
    """None below version 10."""
    is_internal: bool = False
    partitions: Mapping[int, PartitionMetadata]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetadata:
    """The answer to a MetadataRequest (Kafka: MetadataResponse)."""

    cluster_id: str | None
    controller_id: int
    """A broker that forwards to the controller, or -1."""
    brokers: Mapping[int, Broker]
    topics: Mapping[str, TopicMetadata]
    throttle_time_ms: int = 0
    error: ErrorCode = ErrorCode.NONE
    """REBOOTSTRAP_REQUIRED where nothing known of the cluster holds any more (KIP-1102; v13)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest(Request[ClusterMetadata]):
    """Asks about topics by name; never creates one (Kafka: MetadataRequest)."""

    topics: tuple[str, ...] | None
    """None: all topics that there are; empty: only the brokers."""


API_KEY: Final = 3
VERSIONS: Final = range(4, 14)
"""4 is the first that does not create the topics that it is asked about (Kafka 0.11)."""

_SINCE_OFFLINE: Final = 5
_SINCE_LEADER_EPOCH: Final = 7
_SINCE_OPERATIONS: Final = 8
_SINCE_TOPIC_IDS: Final = 10
_SINCE_ERROR: Final = 13


def encode_metadata(request: MetadataRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`, all of one version."""
    version = classes.MetadataRequest.__version__
    fields: dict[str, Any] = {"include_topic_authorized_operations": False} if version >= _SINCE_OPERATIONS else {}
    if _SINCE_OPERATIONS <= version <= _SINCE_TOPIC_IDS:
        fields["include_cluster_authorized_operations"] = False
    by_id = {"topic_id": None} if version >= _SINCE_TOPIC_IDS else {}
    topics = (
        None
        if request.topics is None
        else tuple(classes.MetadataRequestTopic(name=name, **by_id) for name in request.topics)
    )
    return classes.MetadataRequest(topics=topics, allow_auto_topic_creation=False, **fields)


def decode_metadata(payload: Any) -> ClusterMetadata:
    """Read kio's MetadataResponse."""
    version = payload.__version__
    return ClusterMetadata(
        cluster_id=payload.cluster_id,
        controller_id=payload.controller_id,
        brokers={told.node_id: Broker(told.node_id, told.host, told.port, told.rack) for told in payload.brokers},
        topics={topic.name: _topic(topic, version) for topic in payload.topics if topic.name is not None},
        throttle_time_ms=payload.throttle_time // timedelta(milliseconds=1),
        error=code_of(payload.error_code) if version >= _SINCE_ERROR else ErrorCode.NONE,
    )


def _topic(topic: Any, version: int) -> TopicMetadata:
    return TopicMetadata(
        error=code_of(topic.error_code),
        topic_id=topic.topic_id if version >= _SINCE_TOPIC_IDS else None,
        is_internal=topic.is_internal,
        partitions={told.partition_index: _partition(told, version) for told in topic.partitions},
    )


def _partition(told: Any, version: int) -> PartitionMetadata:
    return PartitionMetadata(
        code_of(told.error_code),
        told.leader_id,
        told.leader_epoch if version >= _SINCE_LEADER_EPOCH else -1,
        tuple(told.replica_nodes),
        tuple(told.isr_nodes),
        tuple(told.offline_replicas) if version >= _SINCE_OFFLINE else (),
    )
