"""DescribeQuorum: who leads the controllers, and how far each node is with the metadata log (KIP-595, KIP-836)."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID

from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.errors import MalformedResponseError
from replication.protocol.messages.request import Request


class QuorumReplica(NamedTuple):
    """A node that keeps the metadata log (Kafka: QuorumInfo.ReplicaState)."""

    id: int
    log_end_offset: int
    """-1 where the leader does not know it."""
    directory_id: UUID | None = None
    """None below version 2, and where voters are configured by their ids alone."""
    last_fetch_ms: int = -1
    """Since 1970 UTC, by the leader's clock; -1 of the leader itself, where it is not known, and below version 1."""
    last_caught_up_ms: int = -1
    """When what it fetched last was appended; -1 as above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedQuorum:
    """The answer to a DescribeQuorumRequest (Kafka: QuorumInfo)."""

    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    """None below version 2."""
    leader_id: int = -1
    """-1 where it is not known."""
    leader_epoch: int = -1
    high_watermark: int = -1
    voters: tuple[QuorumReplica, ...] = ()
    """Controllers."""
    observers: tuple[QuorumReplica, ...] = ()
    """Brokers, and controllers without a vote."""


@dataclass(frozen=True, slots=True)
class DescribeQuorumRequest(Request[DescribedQuorum]):
    """Asks about the quorum of the metadata log (Kafka: DescribeQuorumRequest)."""


API_KEY: Final = 55
VERSIONS: Final = range(3)
METADATA_TOPIC: Final = "__cluster_metadata"

_SINCE_TIMES: Final = 1
_SINCE_DIRECTORIES: Final = 2


def encode_describe_quorum(_: DescribeQuorumRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`, all of one version."""
    topic = classes.TopicData(topic_name=METADATA_TOPIC, partitions=(classes.PartitionData(partition_index=0),))
    return classes.DescribeQuorumRequest(topics=(topic,))


def decode_describe_quorum(payload: Any) -> DescribedQuorum:
    """Read kio's DescribeQuorumResponse; MalformedResponseError where it tells of no or of another partition."""
    version = payload.__version__
    error = code_of(payload.error_code)
    if error is not ErrorCode.NONE:
        return DescribedQuorum(error=error, error_message=_message(payload, version))
    told = [(topic.topic_name, partition) for topic in payload.topics for partition in topic.partitions]
    if [(topic, partition.partition_index) for topic, partition in told] != [(METADATA_TOPIC, 0)]:
        raise MalformedResponseError(
            f"{len(told)} partitions are told of, where {METADATA_TOPIC}-0 alone was asked for"
        )
    partition = told[0][1]
    return DescribedQuorum(
        error=code_of(partition.error_code),
        error_message=_message(partition, version),
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        high_watermark=partition.high_watermark,
        voters=tuple(_replica(told, version) for told in partition.current_voters),
        observers=tuple(_replica(told, version) for told in partition.observers),
    )


def _message(told: Any, version: int) -> str | None:
    message: str | None = told.error_message if version >= _SINCE_DIRECTORIES else None
    return message


def _replica(told: Any, version: int) -> QuorumReplica:
    timed = version >= _SINCE_TIMES
    return QuorumReplica(
        told.replica_id,
        told.log_end_offset,
        told.replica_directory_id if version >= _SINCE_DIRECTORIES else None,
        told.last_fetch_timestamp if timed else -1,
        told.last_caught_up_timestamp if timed else -1,
    )
