"""DescribeQuorum: who leads the controllers, and how far each node is with the metadata log (KIP-595, KIP-836)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple
from uuid import UUID

from replication.base.metadata_partition import METADATA_PARTITION
from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Int16, Int32, Int64, OptionalString, String, UInt16
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.errors import MalformedResponseError, UnsupportedRequestError
from replication.wire.messages.field_types import OptionalUuid
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


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


class QuorumListener(NamedTuple):
    """Where a node of the quorum listens."""

    name: String
    host: String
    port: UInt16


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
    listeners: Mapping[int, tuple[QuorumListener, ...]] = field(default_factory=dict)
    """Where the nodes of the quorum listen, by id (KIP-853; v2)."""


@dataclass(frozen=True, slots=True)
class DescribeQuorumRequest(Request[DescribedQuorum]):
    """Asks about the quorum of the metadata log (Kafka: DescribeQuorumRequest)."""


API_KEY: Final = 55
VERSIONS: Final = range(3)
METADATA_TOPIC: Final = METADATA_PARTITION.topic


class _AskedPartition(NamedTuple):
    partition: Int32


class _AskedTopic(NamedTuple):
    name: String
    partitions: Annotated[tuple[_AskedPartition, ...], Structs(_AskedPartition)]


class _Request(NamedTuple):
    topics: Annotated[tuple[_AskedTopic, ...], Structs(_AskedTopic)]


class _Replica(NamedTuple):
    id: Int32
    directory_id: Annotated[OptionalUuid, Since(2, ignorable=True)] = None
    log_end_offset: Int64 = -1
    last_fetch_ms: Annotated[Int64, Since(1, ignorable=True)] = -1
    last_caught_up_ms: Annotated[Int64, Since(1, ignorable=True)] = -1


class _Partition(NamedTuple):
    partition: Int32
    error: Int16
    error_message: Annotated[OptionalString, Since(2, ignorable=True)] = None
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1
    high_watermark: Int64 = -1
    voters: Annotated[tuple[_Replica, ...], Structs(_Replica)] = ()
    observers: Annotated[tuple[_Replica, ...], Structs(_Replica)] = ()


class _Topic(NamedTuple):
    name: String
    partitions: Annotated[tuple[_Partition, ...], Structs(_Partition)]


class _Node(NamedTuple):
    id: Int32
    listeners: Annotated[tuple[QuorumListener, ...], Structs(QuorumListener)]


class _Response(NamedTuple):
    error: Int16
    error_message: Annotated[OptionalString, Since(2, ignorable=True)] = None
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)] = ()
    nodes: Annotated[tuple[_Node, ...], Structs(_Node), Since(2, ignorable=True)] = ()


_ASKED: Final = _Request((_AskedTopic(METADATA_TOPIC, (_AskedPartition(0),)),))


def _encode_request(_: DescribeQuorumRequest, _version: int) -> _Request:
    return _ASKED


def _decode_request(fields: _Request, _: int) -> DescribeQuorumRequest:
    """Return the request; UnsupportedRequestError where it asks about another partition."""
    if fields != _ASKED:
        raise UnsupportedRequestError(f"a DescribeQuorumRequest does not ask about {METADATA_TOPIC}-0 alone")
    return DescribeQuorumRequest()


def _encode_response(told: DescribedQuorum, _: int) -> _Response:
    """Return the answer with an error as that of the partition, whose leader alone knows its state."""
    voters, observers = (
        tuple(_Replica(each.id, each.directory_id, each.log_end_offset, *each[3:]) for each in replicas)
        for replicas in (told.voters, told.observers)
    )
    partition = _Partition(
        0, told.error, told.error_message, told.leader_id, told.leader_epoch, told.high_watermark, voters, observers
    )
    nodes = tuple(_Node(node_id, listeners) for node_id, listeners in told.listeners.items())
    return _Response(ErrorCode.NONE, None, (_Topic(METADATA_TOPIC, (partition,)),), nodes)


def _decode_response(fields: _Response, _: int) -> DescribedQuorum:
    """Return the answer; MalformedResponseError where it describes no or another partition."""
    error = code_of(fields.error)
    if error is not ErrorCode.NONE:
        return DescribedQuorum(error=error, error_message=fields.error_message)
    told = [(topic.name, partition) for topic in fields.topics for partition in topic.partitions]
    if [(topic, partition.partition) for topic, partition in told] != [(METADATA_TOPIC, 0)]:
        raise MalformedResponseError(f"{len(told)} partitions are answered, but only {METADATA_TOPIC}-0 was requested")
    partition = told[0][1]
    return DescribedQuorum(
        error=code_of(partition.error),
        error_message=partition.error_message,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        high_watermark=partition.high_watermark,
        voters=tuple(map(_replica, partition.voters)),
        observers=tuple(map(_replica, partition.observers)),
        listeners={node.id: node.listeners for node in fields.nodes},
    )


def _replica(told: _Replica) -> QuorumReplica:
    return QuorumReplica(told.id, told.log_end_offset, told.directory_id, told.last_fetch_ms, told.last_caught_up_ms)


REQUEST: Final = Form("DescribeQuorumRequest", _Request, 0, _encode_request, _decode_request)
RESPONSE: Final = Form("DescribeQuorumResponse", _Response, 0, _encode_response, _decode_response)
