"""The fields of Fetch in all versions, and what our terms make of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

from epoch import EndOffset
from logstore import TopicPartition
from replication.records.codec.codec import Since, Struct, Structs, Tag, Until
from replication.records.codec.fields import (
    NO_ID,
    Data,
    Int8,
    Int16,
    Int32,
    Int32s,
    Int64,
    OptionalRecords,
    OptionalString,
    String,
    Uuid,
)
from replication.records.codec.rows import Columns
from replication.wire.addresses import Address
from replication.wire.error_code import code_of
from replication.wire.errors import MalformedResponseError
from replication.wire.messages import fetch, plain_fetch
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.fetch import (
    FINAL_SESSION_EPOCH,
    NO_SESSION,
    NOT_SUPPORTED,
    SINCE_TOPIC_IDS,
    AbortedTransaction,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    SnapshotId,
)
from replication.wire.messages.form import Form
from replication.wire.messages.replica_id import CONSUMER
from replication.wire.messages.topic_ids import Endpoint, unnamed

_FLEXIBLE_SINCE: Final = 12
_SINCE_REPLICA_STATE: Final = 15
# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


class _Partition(NamedTuple):
    partition: Int32
    current_leader_epoch: Annotated[Int32, Since(9, ignorable=True)] = -1
    fetch_offset: Int64 = 0
    last_fetched_epoch: Annotated[Int32, Since(12, ignorable=True)] = -1
    log_start_offset: Annotated[Int64, Since(5, ignorable=True)] = -1
    max_bytes: Int32 = 0
    replica_directory_id: Annotated[Uuid, Since(17, ignorable=True), Tag(0)] = NO_ID
    high_watermark: Annotated[Int64, Since(18, ignorable=True), Tag(1)] = NOT_SUPPORTED


class _Topic(NamedTuple):
    name: Annotated[String, Until(12)] = ""
    id: Annotated[Uuid, Since(13, ignorable=True)] = NO_ID
    partitions: Annotated[tuple[_Partition, ...], Structs(_Partition, plain=True)] = ()


class _Forgotten(NamedTuple):
    name: Annotated[String, Until(12)] = ""
    id: Annotated[Uuid, Since(13, ignorable=True)] = NO_ID
    partitions: Int32s = ()


class _ReplicaState(NamedTuple):
    replica_id: Int32 = CONSUMER
    replica_epoch: Int64 = -1


class _Request(NamedTuple):
    replica_id: Annotated[Int32, Until(14)] = CONSUMER
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = 0
    isolation_level: Int8 = 0
    session_id: Annotated[Int32, Since(7, ignorable=True)] = NO_SESSION
    session_epoch: Annotated[Int32, Since(7, ignorable=True)] = FINAL_SESSION_EPOCH
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)] = ()
    forgotten: Annotated[tuple[_Forgotten, ...], Structs(_Forgotten), Since(7, ignorable=True)] = ()
    rack_id: Annotated[String, Since(11, ignorable=True)] = ""
    cluster_id: Annotated[OptionalString, Since(12, ignorable=True), Tag(0)] = None
    replica: Annotated[_ReplicaState, Struct(_ReplicaState), Since(15, ignorable=True), Tag(1)] = _ReplicaState()


class _EpochEndOffset(NamedTuple):
    epoch: Int32 = -1
    end_offset: Int64 = -1


_NO_END: Final = _EpochEndOffset()
_NO_LEADER: Final = LeaderIdAndEpoch(-1, -1)
_NO_SNAPSHOT: Final = SnapshotId(-1, -1)


class _Fetched(NamedTuple):
    partition: Int32
    error: Int16
    high_watermark: Int64
    last_stable_offset: Int64 = -1
    log_start_offset: Annotated[Int64, Since(5, ignorable=True)] = -1
    aborted_transactions: Annotated[
        tuple[AbortedTransaction, ...] | None, Structs(AbortedTransaction, optional=True)
    ] = None
    preferred_read_replica: Annotated[Int32, Since(11, ignorable=True)] = -1
    records: OptionalRecords = None
    diverging_epoch: Annotated[_EpochEndOffset, Struct(_EpochEndOffset), Since(12, ignorable=True), Tag(0)] = _NO_END
    current_leader: Annotated[LeaderIdAndEpoch, Struct(LeaderIdAndEpoch), Since(12, ignorable=True), Tag(1)] = (
        _NO_LEADER
    )
    snapshot_id: Annotated[SnapshotId, Struct(SnapshotId), Since(12, ignorable=True), Tag(2)] = _NO_SNAPSHOT


class _FetchedTopic(NamedTuple):
    name: Annotated[String, Until(12)] = ""
    id: Annotated[Uuid, Since(13, ignorable=True)] = NO_ID
    partitions: Annotated[tuple[_Fetched, ...], Structs(_Fetched, plain=True)] = ()


class _Response(NamedTuple):
    throttle_time_ms: Int32 = 0
    error: Annotated[Int16, Since(7, ignorable=True)] = 0
    session_id: Annotated[Int32, Since(7, ignorable=True)] = NO_SESSION
    topics: Annotated[tuple[_FetchedTopic, ...], Structs(_FetchedTopic)] = ()
    endpoints: Annotated[tuple[Endpoint, ...], Structs(Endpoint), Since(16, ignorable=True), Tag(0)] = ()


def _encode_request(request: FetchRequest, version: int) -> _Request:
    return _Request(
        request.replica_id,
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        request.session_id,
        request.session_epoch,
        tuple(
            _Topic(topic, _id(topic, request.topic_ids, version), _asked(entries))
            for topic, entries in by_topic(request.partitions.items()).items()
        ),
        tuple(
            _Forgotten(topic, _id(topic, request.topic_ids, version), tuple(index for index, _ in entries))
            for topic, entries in by_topic((partition, None) for partition in request.forgotten).items()
        ),
        request.rack_id,
        request.cluster_id,
        _ReplicaState(request.replica_id, request.replica_epoch),
    )


def _asked(entries: Iterable[tuple[int, FetchPartition]]) -> Any:
    """Return each as a _Partition: as the plain tuple that is made in a quarter of its time."""
    return [
        (index, leader_epoch, offset, fetched_epoch, log_start, max_bytes, directory, high_watermark)
        for index, (
            offset,
            max_bytes,
            leader_epoch,
            fetched_epoch,
            log_start,
            directory,
            high_watermark,
        ) in entries
    ]


def _id(topic: str, topic_ids: Mapping[str, UUID], version: int) -> UUID:
    return topic_ids[topic] if version >= SINCE_TOPIC_IDS else NO_ID


def _decode_request(fields: _Request, version: int) -> FetchRequest:
    topics: list[tuple[str, Any]] = [(_name(topic, version), topic) for topic in fields.topics]
    forgotten: list[tuple[str, Any]] = [(_name(topic, version), topic) for topic in fields.forgotten]
    replica = fields.replica if version >= _SINCE_REPLICA_STATE else _ReplicaState(fields.replica_id)
    return FetchRequest(
        partitions={
            _build(TopicPartition, (name, index)): _build(
                FetchPartition, (offset, max_bytes, leader_epoch, fetched_epoch, log_start, directory, high_watermark)
            )
            for name, topic in topics
            for (
                index,
                leader_epoch,
                offset,
                fetched_epoch,
                log_start,
                max_bytes,
                directory,
                high_watermark,
            ) in topic.partitions
        },
        forgotten=tuple(TopicPartition(name, index) for name, topic in forgotten for index in topic.partitions),
        topic_ids={name: topic.id for name, topic in (*topics, *forgotten)} if _by_id(version) else {},
        replica_id=replica.replica_id,
        replica_epoch=replica.replica_epoch,
        max_wait_ms=fields.max_wait_ms,
        min_bytes=fields.min_bytes,
        max_bytes=fields.max_bytes,
        session_id=fields.session_id,
        session_epoch=fields.session_epoch,
        isolation_level=fields.isolation_level,
        rack_id=fields.rack_id,
        cluster_id=fields.cluster_id,
    )


def _by_id(version: int) -> bool:
    return version >= SINCE_TOPIC_IDS


def _name(topic: _Topic | _Forgotten | _FetchedTopic, version: int) -> str:
    return unnamed(topic.id) if _by_id(version) else topic.name


def _encode_response(response: FetchResponse, version: int) -> _Response:
    return _Response(
        response.throttle_time_ms,
        response.error,
        response.session_id,
        tuple(
            _FetchedTopic(topic, _id(topic, response.topic_ids, version), fetched)
            for topic, fetched in _fetched(response.partitions).items()
        ),
        tuple(Endpoint(node_id, *address) for node_id, address in response.leaders.items()),
    )


def _fetched(partitions: Mapping[TopicPartition, FetchedPartition]) -> Mapping[str, Any]:
    """Return those of each topic as Columns of a _Fetched."""
    topics: dict[str, tuple[list[int], list[FetchedPartition]]] = defaultdict(lambda: ([], []))
    last = None
    for (topic, index), answer in partitions.items():
        if topic is not last:
            last, (indexes, told) = topic, topics[topic]
        indexes.append(index)
        told.append(answer)
    return {topic: _columns(*entries) for topic, entries in topics.items()}


def _columns(indexes: Sequence[int], told: Sequence[FetchedPartition]) -> Columns:
    error, high_watermark, log_start, records, diverging, leader, snapshot, stable, aborted, preferred = zip(
        *told, strict=True
    )
    return Columns(
        indexes,
        error,
        high_watermark,
        stable,
        log_start,
        aborted,
        preferred,
        records,
        _filled(diverging, _NO_END),
        _filled(leader, _NO_LEADER),
        _filled(snapshot, _NO_SNAPSHOT),
    )


def _filled(column: Sequence[Any], blank: Any) -> Sequence[Any]:
    return [each or blank for each in column] if any(column) else (blank,) * len(column)


def read_response(data: Data, version: int, topic_names: Mapping[UUID, str]) -> FetchResponse:
    """Read an answer; MalformedResponseError also for a topic id that `topic_names` does not have."""
    plain = plain_fetch.read_response(data, version)
    if plain is not None:
        name = _asked_name(plain.topic_id, topic_names)
        return FetchResponse(
            error=code_of(plain.error),
            session_id=plain.session_id,
            throttle_time_ms=plain.throttle_time_ms,
            partitions={TopicPartition(name, plain.partition): plain.fetched},
        )
    fields: _Response = RESPONSE.read_fields(data, version)
    by_id = _by_id(version)
    names = (_asked_name(topic.id, topic_names) if by_id else topic.name for topic in fields.topics)
    return _response(fields, list(zip(names, fields.topics, strict=True)))


def _decode_response(fields: _Response, version: int) -> FetchResponse:
    topics = [(_name(topic, version), topic) for topic in fields.topics]
    ids = {name: topic.id for name, topic in topics} if _by_id(version) else {}
    return replace(_response(fields, topics), topic_ids=ids)


def _response(fields: _Response, topics: list[tuple[str, _FetchedTopic]]) -> FetchResponse:
    return FetchResponse(
        error=code_of(fields.error),
        session_id=fields.session_id,
        throttle_time_ms=fields.throttle_time_ms,
        partitions={
            TopicPartition(name, index): FetchedPartition(
                code_of(error),
                high_watermark,
                log_start,
                records or b"",
                None if diverging is _NO_END or diverging.epoch < 0 else EndOffset(*diverging),
                None if leader is _NO_LEADER or leader.leader_id < 0 else leader,
                None if snapshot is _NO_SNAPSHOT or snapshot.end_offset < 0 else snapshot,
                stable,
                aborted,
                preferred,
            )
            for name, topic in topics
            for (
                index,
                error,
                high_watermark,
                stable,
                log_start,
                aborted,
                preferred,
                records,
                diverging,
                leader,
                snapshot,
            ) in topic.partitions
        },
        leaders={node_id: Address(host, port) for node_id, host, port, _ in fields.endpoints},
    )


def _asked_name(topic_id: UUID, topic_names: Mapping[UUID, str]) -> str:
    try:
        return topic_names[topic_id]
    except KeyError:
        raise MalformedResponseError(
            f"the answer to Fetch holds a topic of id {topic_id}, which was not requested"
        ) from None


API_KEY: Final = fetch.API_KEY
VERSIONS: Final = fetch.VERSIONS
REQUEST: Final = Form(
    "FetchRequest",
    _Request,
    _FLEXIBLE_SINCE,
    _encode_request,
    _decode_request,
    plain_fetch.read_request,
    plain_fetch.write_request,
)
RESPONSE: Final = Form(
    "FetchResponse",
    _Response,
    _FLEXIBLE_SINCE,
    _encode_response,
    _decode_response,
    write_plain=plain_fetch.write_response,
)
