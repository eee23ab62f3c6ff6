"""Produce: append record batches to partitions, through their leaders (KIP-98, 467, 516, 951)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

from logstore import TopicPartition
from replication.records.codec.codec import Since, Struct, Structs, Tag, Until
from replication.records.codec.fields import (
    NO_ID,
    Data,
    Int16,
    Int32,
    Int64,
    OptionalRecordsView,
    OptionalString,
    String,
    Uuid,
)
from replication.records.codec.gathered import Part
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages import plain_produce
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.fetch import LeaderIdAndEpoch
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request
from replication.wire.messages.topic_ids import Endpoint, known_by, new_names, unnamed, with_names


class RecordError(NamedTuple):
    """A record for which its batch was refused (KIP-467)."""

    batch_index: Int32
    """Its place among the records."""
    message: OptionalString = None


class ProducedPartition(NamedTuple):
    """One partition's part of the answer (Kafka: PartitionProduceResponse)."""

    error: ErrorCode
    base_offset: int = -1
    """Of the first record that was appended."""
    log_append_time: int = -1
    """In milliseconds since 1970 UTC, where the topic has the leader's time; else -1."""
    log_start_offset: int = -1
    """The leader's (v5)."""
    record_errors: tuple[RecordError, ...] = ()
    """Why the batch was refused, by record (v8)."""
    error_message: str | None = None
    """Why, altogether (v8)."""
    current_leader: LeaderIdAndEpoch | None = None
    """With an error that means that another broker leads (v10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceResponse:
    """The answer to a ProduceRequest (Kafka: ProduceResponse); with acks 0 there is none."""

    partitions: Mapping[TopicPartition, ProducedPartition]
    throttle_time_ms: int = 0
    leaders: Mapping[int, Address] = field(default_factory=dict)
    """Where the current leaders listen that the partitions name, by broker id (v10)."""
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """The ids of the topics, by which versions from 13 on name them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRequest(Request[ProduceResponse]):
    """Asks leaders to append (Kafka: ProduceRequest)."""

    partitions: Mapping[TopicPartition, bytes | memoryview | None]
    """The batches of each. In a request that was read these are views of it."""
    acks: int = -1
    """0: no answer; 1: once the leader has appended; -1: once all replicas in sync have."""
    timeout_ms: int = 30_000
    """How long the leader may wait for the others."""
    transactional_id: str | None = None
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """The ids of all topics, by which versions from 13 on name them; none: by name.

    In a request that was read by ids they stand in place of names until `named` gives these.
    """


API_KEY: Final = 0
VERSIONS: Final = range(3, 14)
"""3 is the first with record batches v2 (Kafka 0.11), and all that Kafka 4 serves."""

SINCE_TOPIC_IDS: Final = 13
_FLEXIBLE_SINCE: Final = 9
_NO_LEADER: Final = LeaderIdAndEpoch(-1, -1)
_NO_IDS: Final[Mapping[str, UUID]] = MappingProxyType({})
# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


def produce_versions(request: ProduceRequest) -> range:
    """Return the versions that can carry a request: by topic id only where every topic's is known (KIP-516)."""
    is_by_id = len(request.topic_ids) > 0 and {topic for topic, _ in request.partitions} <= request.topic_ids.keys()
    return VERSIONS if is_by_id else range(VERSIONS.start, SINCE_TOPIC_IDS)


def named(request: ProduceRequest, names: Mapping[UUID, str]) -> ProduceRequest:
    """Return a request that was read by topic ids with the names of the topics; ids without a name stay as they are."""
    new = new_names(request.topic_ids, names)
    return replace(
        request,
        partitions=with_names(request.partitions, new),
        topic_ids={new[known]: topic_id for known, topic_id in request.topic_ids.items()},
    )


class _Partition(NamedTuple):
    partition: Int32
    records: OptionalRecordsView


class _Topic(NamedTuple):
    name: Annotated[String, Until(12)] = ""
    id: Annotated[Uuid, Since(13, ignorable=True)] = NO_ID
    partitions: Annotated[tuple[_Partition, ...], Structs(_Partition)] = ()


class _Request(NamedTuple):
    transactional_id: OptionalString
    acks: Int16
    timeout_ms: Int32
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)]


class _Produced(NamedTuple):
    partition: Int32
    error: Int16
    base_offset: Int64
    log_append_time: Int64 = -1
    log_start_offset: Annotated[Int64, Since(5, ignorable=True)] = -1
    record_errors: Annotated[tuple[RecordError, ...], Structs(RecordError), Since(8, ignorable=True)] = ()
    error_message: Annotated[OptionalString, Since(8, ignorable=True)] = None
    current_leader: Annotated[LeaderIdAndEpoch, Struct(LeaderIdAndEpoch), Since(10, ignorable=True), Tag(0)] = (
        _NO_LEADER
    )


class _ProducedTopic(NamedTuple):
    name: Annotated[String, Until(12)] = ""
    id: Annotated[Uuid, Since(13, ignorable=True)] = NO_ID
    partitions: Annotated[tuple[_Produced, ...], Structs(_Produced)] = ()


class _Response(NamedTuple):
    topics: Annotated[tuple[_ProducedTopic, ...], Structs(_ProducedTopic)]
    throttle_time_ms: Int32 = 0
    endpoints: Annotated[tuple[Endpoint, ...], Structs(Endpoint), Since(10, ignorable=True), Tag(0)] = ()


def _encode_request(request: ProduceRequest, version: int) -> _Request:
    topics = (
        _Topic(topic, _id(topic, request.topic_ids, version), tuple(_Partition(*entry) for entry in entries))
        for topic, entries in by_topic(request.partitions.items()).items()
    )
    return _Request(request.transactional_id, request.acks, request.timeout_ms, tuple(topics))


def _decode_request(fields: _Request, version: int) -> ProduceRequest:
    topics: list[tuple[str, Any]] = [(_name(topic, version), topic) for topic in fields.topics]
    return ProduceRequest(
        partitions={
            TopicPartition(name, index): records for name, topic in topics for index, records in topic.partitions
        },
        acks=fields.acks,
        timeout_ms=fields.timeout_ms,
        transactional_id=fields.transactional_id,
        topic_ids=_ids(topics, version),
    )


def _encode_response(response: ProduceResponse, version: int) -> _Response:
    topics = (
        _ProducedTopic(topic, _id(topic, response.topic_ids, version), tuple(_produced(*entry) for entry in entries))
        for topic, entries in by_topic(response.partitions.items()).items()
    )
    endpoints = tuple(Endpoint(node_id, *address) for node_id, address in response.leaders.items())
    return _Response(tuple(topics), response.throttle_time_ms, endpoints)


def _produced(index: int, told: ProducedPartition) -> _Produced:
    return _Produced(index, *told[:-1], told.current_leader or _NO_LEADER)


def _decode_response(fields: _Response, version: int) -> ProduceResponse:
    topics: list[tuple[str, Any]] = [(_name(topic, version), topic) for topic in fields.topics]
    return ProduceResponse(
        partitions={
            TopicPartition(name, each.partition): ProducedPartition(
                code_of(each.error),
                each.base_offset,
                each.log_append_time,
                each.log_start_offset,
                each.record_errors,
                each.error_message,
                None if each.current_leader.leader_id < 0 else each.current_leader,
            )
            for name, topic in topics
            for each in topic.partitions
        },
        throttle_time_ms=fields.throttle_time_ms,
        leaders={node_id: Address(host, port) for node_id, host, port, _ in fields.endpoints},
        topic_ids=_ids(topics, version),
    )


def _read_plain(data: Data, version: int) -> ProduceRequest | None:
    by_id = version >= SINCE_TOPIC_IDS
    plain = plain_produce.read_plain(data, by_id=by_id) if version >= _FLEXIBLE_SINCE else None
    if plain is None:
        return None
    acks, timeout_ms, topic, partition, records = plain
    name, topic_ids = known_by(topic) if by_id else (topic, _NO_IDS)
    key: TopicPartition = _build(TopicPartition, (name, partition))
    return ProduceRequest(partitions={key: records}, acks=acks, timeout_ms=timeout_ms, topic_ids=topic_ids)


def _write_plain(response: ProduceResponse, version: int) -> list[Part] | None:
    if version < _FLEXIBLE_SINCE or len(response.partitions) != 1 or response.leaders:
        return None
    (((topic, partition), told),) = response.partitions.items()
    error, base_offset, time_ms, start_offset, record_errors, message, leader = told
    if record_errors or message is not None or leader is not None:
        return None
    name = response.topic_ids[topic].bytes if version >= SINCE_TOPIC_IDS else plain_produce.named(topic)
    if name is None:
        return None
    written = plain_produce.write_plain(
        name, partition, error, base_offset, time_ms, start_offset, response.throttle_time_ms
    )
    return None if written is None else [written]


def _id(topic: str, topic_ids: Mapping[str, UUID], version: int) -> UUID:
    return topic_ids[topic] if version >= SINCE_TOPIC_IDS else NO_ID


def _ids(topics: list[tuple[str, Any]], version: int) -> Mapping[str, UUID]:
    return {name: topic.id for name, topic in topics} if version >= SINCE_TOPIC_IDS else {}


def _name(topic: _Topic | _ProducedTopic, version: int) -> str:
    return unnamed(topic.id) if version >= SINCE_TOPIC_IDS else topic.name


REQUEST: Final = Form("ProduceRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request, _read_plain)
RESPONSE: Final = Form(
    "ProduceResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response, write_plain=_write_plain
)
