"""Metadata: a cluster's brokers and topics, and who leads each partition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata:
    """One topic, or why nothing can be told of it."""

    error: ErrorCode = ErrorCode.none
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest:
    """Asks about topics by name; never creates one (Kafka: MetadataRequest)."""

    topics: tuple[str, ...] | None
    """None: all topics that there are; empty: only the brokers."""
