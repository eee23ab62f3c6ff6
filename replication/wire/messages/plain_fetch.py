"""A Fetch of one partition, and its answer without anything rare: so are most of whoever follows a busy partition.

A few calls read and write their bytes. Whatever is not of this form is None here, valid or not, and left to the codec.
"""

import struct
from collections.abc import Mapping
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from logstore import TopicPartition
from replication.records.codec.fields import NO_ID, Data, read_uvarint, write_uvarint
from replication.records.codec.gathered import LEAST_VIEW, Part
from replication.wire.error_code import code_of
from replication.wire.messages.compact_counts import EMPTY, NULL, ONE
from replication.wire.messages.fetch import (
    NOT_SUPPORTED,
    SINCE_TOPIC_IDS,
    AbortedTransaction,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from replication.wire.messages.replica_id import CONSUMER
from replication.wire.messages.topic_ids import id_of, known_by

_SINCE_REPLICA_STATE: Final = 15
"""From here on a replica is named by a tag."""
_SINCE_HIGH_WATERMARK: Final = 18
"""And sends its high watermark in one."""

_TERMS: Final = Struct(">iiibii")
"""How long to wait, how much to return, the isolation level and the session."""
_ASKED: Final = Struct(">b16sbiiqiqi")
"""The topics and the one's id, the partitions and what is asked of the one."""
_END_OF_ASKED: Final = _TERMS.size + _ASKED.size
_HIGH_WATERMARK: Final = b"\1\1\x08"
"""One tag of the partition: its number, and its size."""
_NOTHING_MORE: Final = b"\0\1\1"
"""No tags of the topic, no topics to forget, no rack."""
_CONSUMER: Final = (CONSUMER, -1)
_REPLICA: Final = Struct(">3siqb")
"""One tag of the request: who fetches, and no tags of that."""
_REPLICA_TAG: Final = b"\1\1\x0d"
_ANSWERED: Final = Struct(">ihib16sbihqqqbi")
"""The throttling, error and session, the topics and the one's id, the partitions; of the one its number, error, three
offsets, the transactions that were aborted, and the replica to read from."""
_ABORTED: Final[Mapping[int, tuple[AbortedTransaction, ...] | None]] = {NULL: None, EMPTY: ()}
_NO_TAGS: Final = b"\0\0\0"
"""Of the partition, the topic and the answer."""
# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


def read_request(data: Data, version: int) -> FetchRequest | None:
    """Read a request that takes up all the bytes."""
    if version < _SINCE_REPLICA_STATE or len(data) <= _END_OF_ASKED:
        return None
    terms, asked = _TERMS.unpack_from(data), _ASKED.unpack_from(data, _TERMS.size)
    max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = terms
    topics, topic_id, partitions, index, leader_epoch, offset, fetched_epoch, log_start, partition_bytes = asked
    if topics != ONE or partitions != ONE:
        return None
    tail = bytes(data[_END_OF_ASKED:])
    high_watermark, position = NOT_SUPPORTED, 1
    if version >= _SINCE_HIGH_WATERMARK and tail.startswith(_HIGH_WATERMARK):
        high_watermark, position = int.from_bytes(tail[3:11], "big", signed=True), 11
    elif tail[0]:
        return None
    replica = _replica(tail[position + len(_NOTHING_MORE) :])
    if replica is None or not tail.startswith(_NOTHING_MORE, position):
        return None
    name, topic_ids = known_by(topic_id)
    partition: TopicPartition = _build(TopicPartition, (name, index))
    wanted: FetchPartition = _build(
        FetchPartition, (offset, partition_bytes, leader_epoch, fetched_epoch, log_start, NO_ID, high_watermark)
    )
    return FetchRequest(
        partitions={partition: wanted},
        topic_ids=topic_ids,
        replica_id=replica[0],
        replica_epoch=replica[1],
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=session_id,
        session_epoch=session_epoch,
        isolation_level=isolation_level,
    )


def write_request(request: FetchRequest, version: int) -> list[Part] | None:
    """Return the bytes of a request."""
    is_rare = len(request.partitions) != 1 or request.forgotten or request.rack_id or request.cluster_id is not None
    if version < _SINCE_REPLICA_STATE or is_rare:
        return None
    (((topic, index), asked),) = request.partitions.items()
    offset, partition_bytes, leader_epoch, fetched_epoch, log_start, directory_id, high_watermark = asked
    if directory_id is not NO_ID or high_watermark != NOT_SUPPORTED:
        return None
    replica = request.replica_id, request.replica_epoch
    topic_id = request.topic_ids[topic].bytes
    try:
        terms = _TERMS.pack(
            request.max_wait_ms,
            request.min_bytes,
            request.max_bytes,
            request.isolation_level,
            request.session_id,
            request.session_epoch,
        )
        asked_for = _ASKED.pack(
            ONE, topic_id, ONE, index, leader_epoch, offset, fetched_epoch, log_start, partition_bytes
        )
        told = b"\0" if replica == _CONSUMER else _REPLICA.pack(_REPLICA_TAG, *replica, 0)
    except struct.error:
        return None
    return [terms + asked_for + b"\0" + _NOTHING_MORE + told]


def _replica(tags: bytes) -> tuple[int, int] | None:
    """Return who fetches, and their broker epoch."""
    if tags == b"\0":
        return _CONSUMER
    if len(tags) != _REPLICA.size:
        return None
    tag, replica_id, replica_epoch, more_tags = _REPLICA.unpack(tags)
    return None if tag != _REPLICA_TAG or more_tags else (replica_id, replica_epoch)


def write_response(response: FetchResponse, version: int) -> list[Part] | None:
    """Return the bytes of an answer in parts, with larger views of records as they are."""
    if version < SINCE_TOPIC_IDS or len(response.partitions) != 1 or response.leaders:
        return None
    (((topic, index), told),) = response.partitions.items()
    error, high_watermark, log_start, records, diverging, leader, snapshot, stable, aborted, preferred = told
    if aborted or diverging is not None or leader is not None or snapshot is not None:
        return None
    aborted_count = NULL if aborted is None else EMPTY
    try:
        start = _ANSWERED.pack(
            response.throttle_time_ms,
            response.error,
            response.session_id,
            ONE,
            response.topic_ids[topic].bytes,
            ONE,
            index,
            error,
            high_watermark,
            stable,
            log_start,
            aborted_count,
            preferred,
        )
    except struct.error:
        return None
    head = bytearray(start)
    write_uvarint(head, len(records) + 1)
    if len(records) < LEAST_VIEW:
        return [bytes(head) + records + _NO_TAGS]
    return [bytes(head), records, _NO_TAGS]


class PlainAnswer(NamedTuple):
    """What such an answer says."""

    throttle_time_ms: int
    error: int
    session_id: int
    topic_id: UUID
    partition: int
    fetched: FetchedPartition


def read_response(data: Data, version: int) -> PlainAnswer | None:
    """Read an answer that takes up all the bytes; its records are copied."""
    if version < SINCE_TOPIC_IDS or len(data) <= _ANSWERED.size:
        return None
    throttle_ms, error, session_id, topics, topic_id, partitions, index, *told = _ANSWERED.unpack_from(data)
    partition_error, high_watermark, stable, log_start, aborted, preferred = told
    if topics != ONE or partitions != ONE or aborted not in _ABORTED:
        return None
    try:
        size, position = read_uvarint(data, _ANSWERED.size)
    except (IndexError, ValueError):
        return None
    end = len(data) - len(_NO_TAGS)
    if end - position != max(size - 1, 0) or data[end:] != _NO_TAGS:
        return None
    fetched: FetchedPartition = _build(
        FetchedPartition,
        (
            code_of(partition_error),
            high_watermark,
            log_start,
            bytes(data[position:end]),
            None,
            None,
            None,
            stable,
            _ABORTED[aborted],
            preferred,
        ),
    )
    answer: PlainAnswer = _build(PlainAnswer, (throttle_ms, error, session_id, id_of(topic_id), index, fetched))
    return answer
