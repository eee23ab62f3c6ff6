"""UpdateMetadata: the controller of the ZooKeeper era has a broker know who leads what, and who is there (KIP-103)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple
from uuid import UUID

from logstore import TopicPartition
from replication.records.codec.codec import Since, Structs, Tag, Until
from replication.records.codec.fields import (
    NO_ID,
    Bool,
    Int8,
    Int16,
    Int32,
    Int32s,
    Int64,
    OptionalString,
    String,
    Uuid,
)
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.classic.leader_and_isr import NO_BROKER_EPOCH
from replication.wire.messages.field_types import Error
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class KnownPartition(NamedTuple):
    """What clients are told of a partition (Kafka: UpdateMetadataPartitionState)."""

    controller_epoch: int
    leader: int
    """-1 for none; -2 where the partition is being deleted."""
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    """The version of the partition's node in ZooKeeper."""
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()
    """Of the replicas, those that are not there."""


class AdvertisedEndpoint(NamedTuple):
    """Where a broker listens (Kafka: UpdateMetadataEndpoint)."""

    port: Int32
    host: String
    listener: String
    security_protocol: Int16 = 0
    """A SecurityProtocol."""


class LiveBroker(NamedTuple):
    """A broker that is there (Kafka: UpdateMetadataBroker)."""

    id: Int32
    endpoints: Annotated[tuple[AdvertisedEndpoint, ...], Structs(AdvertisedEndpoint)] = ()
    rack: OptionalString = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataResponse:
    """The answer to an UpdateMetadataRequest."""

    error: Error


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataRequest(Request[UpdateMetadataResponse]):
    """Orders a broker to tell clients this (Kafka: UpdateMetadataRequest)."""

    controller_id: int
    controller_epoch: int
    broker_epoch: int = NO_BROKER_EPOCH
    """Of the registration that is meant (v5)."""
    partitions: Mapping[TopicPartition, KnownPartition]
    """Those that changed."""
    live_brokers: tuple[LiveBroker, ...]
    """All that are there."""
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """Of the topics that have one (v7)."""


API_KEY: Final = 6
VERSIONS: Final = range(4, 9)
"""4 is what Kafka 1.0 takes, 8 the last."""

_SINCE_BROKER_EPOCHS: Final = 5
_FLEXIBLE_SINCE: Final = 6


class _PartitionState(NamedTuple):
    topic_name: Annotated[String, Until(4)] = ""
    partition_index: Int32 = 0
    controller_epoch: Int32 = 0
    leader: Int32 = 0
    leader_epoch: Int32 = 0
    isr: Int32s = ()
    zk_version: Int32 = 0
    replicas: Int32s = ()
    offline_replicas: Int32s = ()


class _TopicState(NamedTuple):
    topic_name: String
    topic_id: Annotated[Uuid, Since(7, ignorable=True)] = NO_ID
    partition_states: Annotated[tuple[_PartitionState, ...], Structs(_PartitionState)] = ()


class _Request(NamedTuple):
    controller_id: Int32
    is_kraft_controller: Annotated[Bool, Since(8)] = False
    controller_epoch: Int32 = 0
    broker_epoch: Annotated[Int64, Since(_SINCE_BROKER_EPOCHS, ignorable=True)] = NO_BROKER_EPOCH
    ungrouped_partition_states: Annotated[tuple[_PartitionState, ...], Structs(_PartitionState), Until(4)] = ()
    topic_states: Annotated[tuple[_TopicState, ...], Structs(_TopicState), Since(5, ignorable=True)] = ()
    live_brokers: Annotated[tuple[LiveBroker, ...], Structs(LiveBroker)] = ()
    type: Annotated[Int8, Tag(0), Since(8)] = 0


def _encode_request(request: UpdateMetadataRequest, version: int) -> _Request:
    topics = tuple(
        _TopicState(
            topic,
            request.topic_ids.get(topic, NO_ID),
            tuple(_PartitionState(topic, number, *state) for number, state in entries),
        )
        for topic, entries in by_topic(request.partitions.items()).items()
    )
    is_grouped = version >= _SINCE_BROKER_EPOCHS
    return _Request(
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        broker_epoch=request.broker_epoch,
        ungrouped_partition_states=() if is_grouped else tuple(each for topic in topics for each in topic[2]),
        topic_states=topics if is_grouped else (),
        live_brokers=request.live_brokers,
    )


def _decode_request(fields: _Request, version: int) -> UpdateMetadataRequest:
    if version >= _SINCE_BROKER_EPOCHS:
        states = [(topic.topic_name, each) for topic in fields.topic_states for each in topic.partition_states]
    else:
        states = [(each.topic_name, each) for each in fields.ungrouped_partition_states]
    return UpdateMetadataRequest(
        controller_id=fields.controller_id,
        controller_epoch=fields.controller_epoch,
        broker_epoch=fields.broker_epoch,
        partitions={TopicPartition(topic, each.partition_index): KnownPartition(*each[2:]) for topic, each in states},
        live_brokers=fields.live_brokers,
        topic_ids={each.topic_name: each.topic_id for each in fields.topic_states if each.topic_id != NO_ID},
    )


REQUEST: Final = Form("UpdateMetadataRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final[Form[UpdateMetadataResponse]] = Form("UpdateMetadataResponse", UpdateMetadataResponse, _FLEXIBLE_SINCE)
