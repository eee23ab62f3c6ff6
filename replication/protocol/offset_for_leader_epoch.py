"""OffsetForLeaderEpoch: where an epoch ended in the leader's log (KIP-101, KIP-279, KIP-320)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kio.schema.errors import ErrorCode

from epoch import EndOffset
from logstore import TopicPartition
from replication.protocol.replica_id import CONSUMER


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
class OffsetForLeaderEpochRequest:
    """Asks about epochs of partitions, one each (Kafka: OffsetsForLeaderEpochRequest).

    Below version 3 a broker with an authorizer answers only those who may act for the cluster.
    """

    partitions: Mapping[TopicPartition, EpochQuestion]
    replica_id: int = CONSUMER
    """Told from version 3 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochResponse:
    """The answer to an OffsetForLeaderEpochRequest."""

    throttle_time_ms: int = 0
    partitions: Mapping[TopicPartition, EpochAnswer]
