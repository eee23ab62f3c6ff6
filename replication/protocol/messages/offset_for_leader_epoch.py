"""OffsetForLeaderEpoch: where an epoch ended in the leader's log (KIP-101, KIP-279, KIP-320)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

from epoch import UNDEFINED_EPOCH, EndOffset
from logstore import TopicPartition
from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.messages.by_topic import by_topic
from replication.protocol.messages.replica_id import CONSUMER
from replication.protocol.messages.request import Request


class EpochQuestion(NamedTuple):
    """Asks where `leader_epoch` ended."""

    current_leader_epoch: int
    """The epoch in which the asker believes the leader to lead, or -1; a leader in another refuses (KIP-320; v2)."""
    leader_epoch: int


class EpochAnswer(NamedTuple):
    """The largest epoch up to the one asked for that the leader knows, and where it ended (Kafka: EpochEndOffset)."""

    error: ErrorCode
    end: EndOffset
    """Of epoch -1 from a leader that answers version 0, which tells only the offset (KIP-279)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochResponse:
    """The answer to an OffsetForLeaderEpochRequest."""

    throttle_time_ms: int = 0
    partitions: Mapping[TopicPartition, EpochAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochRequest(Request[OffsetForLeaderEpochResponse]):
    """Asks about epochs of partitions, one each (Kafka: OffsetsForLeaderEpochRequest).

    Below version 3 a broker with an authorizer answers only those who may act for the cluster.
    """

    partitions: Mapping[TopicPartition, EpochQuestion]
    replica_id: int = CONSUMER
    """Told from version 3 on."""


API_KEY: Final = 23
VERSIONS: Final = range(5)

_SINCE_EPOCHS: Final = 1
_SINCE_LEADER_EPOCH: Final = 2
_SINCE_REPLICA_ID: Final = 3


def encode_offset_for_leader_epoch(request: OffsetForLeaderEpochRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`; what their version cannot say is left out, as Kafka does."""
    version = classes.OffsetForLeaderEpochRequest.__version__
    topics = tuple(
        classes.OffsetForLeaderTopic(
            topic=topic,
            partitions=tuple(_partition(classes.OffsetForLeaderPartition, *entry, version) for entry in entries),
        )
        for topic, entries in by_topic(request.partitions.items()).items()
    )
    asker = {"replica_id": request.replica_id} if version >= _SINCE_REPLICA_ID else {}
    return classes.OffsetForLeaderEpochRequest(topics=topics, **asker)


def decode_offset_for_leader_epoch(payload: Any) -> OffsetForLeaderEpochResponse:
    """Read kio's OffsetForLeaderEpochResponse."""
    version = payload.__version__
    partitions = {
        TopicPartition(topic.topic, answer.partition): EpochAnswer(
            code_of(answer.error_code),
            EndOffset(answer.leader_epoch if version >= _SINCE_EPOCHS else UNDEFINED_EPOCH, answer.end_offset),
        )
        for topic in payload.topics
        for answer in topic.partitions
    }
    throttled = payload.throttle_time // timedelta(milliseconds=1) if version >= _SINCE_LEADER_EPOCH else 0
    return OffsetForLeaderEpochResponse(throttle_time_ms=throttled, partitions=partitions)


def _partition(kind: Any, index: int, asked: EpochQuestion, version: int) -> Any:
    fence = {"current_leader_epoch": asked.current_leader_epoch} if version >= _SINCE_LEADER_EPOCH else {}
    return kind(partition=index, leader_epoch=asked.leader_epoch, **fence)
