"""LeaderAndIsr: the controller of the ZooKeeper era has a broker lead and follow partitions (KIP-380, KIP-516)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, NamedTuple
from uuid import UUID

from logstore import TopicPartition
from replication.records.codec.codec import Since, Structs, Until
from replication.records.codec.fields import NO_ID, Bool, Int8, Int16, Int32, Int32s, Int64, String, Uuid
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request
from replication.wire.messages.topic_ids import new_names, unnamed, with_names

NO_BROKER_EPOCH: Final = -1
"""Of a broker whose registration is not known; such a command is obeyed whatever the broker's is."""


class LedPartition(NamedTuple):
    """Who leads a partition, and who follows (Kafka: LeaderAndIsrPartitionState)."""

    controller_epoch: int
    """Of the controller that wrote this last."""
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    """The version of the partition's node in ZooKeeper."""
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...] = ()
    """On their way (v3)."""
    removing_replicas: tuple[int, ...] = ()
    """About to go (v3)."""
    is_new: bool = False
    """The replica has no log yet."""
    leader_recovery_state: int = 0
    """1 after an unclean election, until the leader has recovered (v6)."""


class LiveLeader(NamedTuple):
    """Where a leader listens for brokers (Kafka: LeaderAndIsrLiveLeader)."""

    broker_id: Int32
    host_name: String
    port: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrResponse:
    """The answer to a LeaderAndIsrRequest."""

    error: ErrorCode = ErrorCode.NONE
    """What is wrong with the request as a whole, such as STALE_CONTROLLER_EPOCH."""
    errors: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)
    """By partition; ErrorCode.NONE for those that are led or followed now."""
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """The ids of the topics, by which versions from 5 on name them.

    In an answer that was read by ids they stand in place of names until `named` gives these.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrRequest(Request[LeaderAndIsrResponse]):
    """Orders a broker to lead some partitions and to follow others (Kafka: LeaderAndIsrRequest)."""

    controller_id: int
    controller_epoch: int
    broker_epoch: int = NO_BROKER_EPOCH
    """Of the registration that is meant (v2)."""
    partitions: Mapping[TopicPartition, LedPartition]
    live_leaders: tuple[LiveLeader, ...] = ()
    """Those that lead one of the partitions."""
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """Of the topics that have one (v5)."""


API_KEY: Final = 4
VERSIONS: Final = range(1, 8)
"""1 is what Kafka 1.0 takes, 7 the last."""

_SINCE_BROKER_EPOCHS: Final = 2
_SINCE_TOPIC_IDS: Final = 5
_FLEXIBLE_SINCE: Final = 4


def named(response: LeaderAndIsrResponse, names: Mapping[UUID, str]) -> LeaderAndIsrResponse:
    """Return an answer that was read by topic ids with the topics' names; ids without a name stay as they are."""
    new = new_names(response.topic_ids, names)
    topic_ids = {new[known]: topic_id for known, topic_id in response.topic_ids.items()}
    return replace(response, errors=with_names(response.errors, new), topic_ids=topic_ids)


class _PartitionState(NamedTuple):
    topic_name: Annotated[String, Until(1)] = ""
    partition_index: Int32 = 0
    controller_epoch: Int32 = 0
    leader: Int32 = 0
    leader_epoch: Int32 = 0
    isr: Int32s = ()
    partition_epoch: Int32 = 0
    replicas: Int32s = ()
    adding_replicas: Annotated[Int32s, Since(3, ignorable=True)] = ()
    removing_replicas: Annotated[Int32s, Since(3, ignorable=True)] = ()
    is_new: Bool = False
    leader_recovery_state: Annotated[Int8, Since(6, ignorable=True)] = 0


class _TopicState(NamedTuple):
    topic_name: String
    topic_id: Annotated[Uuid, Since(_SINCE_TOPIC_IDS, ignorable=True)] = NO_ID
    partition_states: Annotated[tuple[_PartitionState, ...], Structs(_PartitionState)] = ()


class _Request(NamedTuple):
    controller_id: Int32
    is_kraft_controller: Annotated[Bool, Since(7)] = False
    controller_epoch: Int32 = 0
    broker_epoch: Annotated[Int64, Since(_SINCE_BROKER_EPOCHS, ignorable=True)] = NO_BROKER_EPOCH
    type: Annotated[Int8, Since(_SINCE_TOPIC_IDS)] = 0
    ungrouped_partition_states: Annotated[tuple[_PartitionState, ...], Structs(_PartitionState), Until(1)] = ()
    topic_states: Annotated[tuple[_TopicState, ...], Structs(_TopicState), Since(2, ignorable=True)] = ()
    live_leaders: Annotated[tuple[LiveLeader, ...], Structs(LiveLeader)] = ()


class _PartitionError(NamedTuple):
    topic_name: Annotated[String, Until(4)] = ""
    partition_index: Int32 = 0
    error_code: Int16 = 0


class _TopicError(NamedTuple):
    topic_id: Uuid
    partition_errors: Annotated[tuple[_PartitionError, ...], Structs(_PartitionError)]


class _Response(NamedTuple):
    error_code: Int16
    partition_errors: Annotated[tuple[_PartitionError, ...], Structs(_PartitionError), Until(4)] = ()
    topics: Annotated[tuple[_TopicError, ...], Structs(_TopicError), Since(_SINCE_TOPIC_IDS, ignorable=True)] = ()


def _encode_request(request: LeaderAndIsrRequest, version: int) -> _Request:
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
        live_leaders=request.live_leaders,
    )


def _decode_request(fields: _Request, version: int) -> LeaderAndIsrRequest:
    if version >= _SINCE_BROKER_EPOCHS:
        states = [(topic.topic_name, each) for topic in fields.topic_states for each in topic.partition_states]
    else:
        states = [(each.topic_name, each) for each in fields.ungrouped_partition_states]
    return LeaderAndIsrRequest(
        controller_id=fields.controller_id,
        controller_epoch=fields.controller_epoch,
        broker_epoch=fields.broker_epoch,
        partitions={TopicPartition(topic, each.partition_index): LedPartition(*each[2:]) for topic, each in states},
        live_leaders=fields.live_leaders,
        topic_ids={each.topic_name: each.topic_id for each in fields.topic_states if each.topic_id != NO_ID},
    )


def _encode_response(response: LeaderAndIsrResponse, version: int) -> _Response:
    errors = by_topic(response.errors.items())
    if version >= _SINCE_TOPIC_IDS:
        topics = tuple(
            _TopicError(
                response.topic_ids.get(topic, NO_ID),
                tuple(_PartitionError("", number, error) for number, error in entries),
            )
            for topic, entries in errors.items()
        )
        return _Response(response.error, topics=topics)
    listed = tuple(_PartitionError(topic, *entry) for topic, entries in errors.items() for entry in entries)
    return _Response(response.error, listed)


def _decode_response(fields: _Response, _: int) -> LeaderAndIsrResponse:
    listed = [(each.topic_name, each) for each in fields.partition_errors]
    listed += [(unnamed(topic.topic_id), each) for topic in fields.topics for each in topic.partition_errors]
    return LeaderAndIsrResponse(
        error=code_of(fields.error_code),
        errors={TopicPartition(topic, each.partition_index): code_of(each.error_code) for topic, each in listed},
        topic_ids={unnamed(topic.topic_id): topic.topic_id for topic in fields.topics},
    )


REQUEST: Final = Form("LeaderAndIsrRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("LeaderAndIsrResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
