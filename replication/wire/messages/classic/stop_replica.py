"""StopReplica: the controller of the ZooKeeper era has a broker stop replicas, and delete some (KIP-380, KIP-570)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple

from logstore import TopicPartition
from replication.records.codec.codec import Since, Structs, Until
from replication.records.codec.fields import Bool, Int16, Int32, Int32s, Int64, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.classic.leader_and_isr import NO_BROKER_EPOCH
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request

NO_LEADER_EPOCH: Final = -1
"""Of a replica that is to stop whatever its leader epoch is."""


class StoppedReplica(NamedTuple):
    """How a replica is to stop (Kafka: StopReplicaPartitionState)."""

    leader_epoch: int = NO_LEADER_EPOCH
    """One with a later leader epoch goes on (v3)."""
    delete: bool = False
    """Whether its log is to be deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReplicaResponse:
    """The answer to a StopReplicaRequest."""

    error: ErrorCode = ErrorCode.NONE
    """What is wrong with the request as a whole, such as STALE_CONTROLLER_EPOCH."""
    errors: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)
    """By partition; ErrorCode.NONE for those that stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReplicaRequest(Request[StopReplicaResponse]):
    """Orders a broker to stop replicas (Kafka: StopReplicaRequest)."""

    controller_id: int
    controller_epoch: int
    broker_epoch: int = NO_BROKER_EPOCH
    """Of the registration that is meant (v1)."""
    partitions: Mapping[TopicPartition, StoppedReplica]


API_KEY: Final = 5
VERSIONS: Final = range(5)

_SINCE_EPOCHS: Final = 3
"""And since a request may delete some and not others."""
_FLEXIBLE_SINCE: Final = 2


def stop_replica_versions(request: StopReplicaRequest) -> range:
    """Return the versions that can carry a request: the first three delete all or nothing."""
    is_mixed = len({each.delete for each in request.partitions.values()}) > 1
    return range(_SINCE_EPOCHS, VERSIONS.stop) if is_mixed else VERSIONS


class _Partition(NamedTuple):
    topic_name: String
    partition_index: Int32


class _Topic(NamedTuple):
    name: String
    partition_indexes: Int32s


class _PartitionState(NamedTuple):
    partition_index: Int32
    leader_epoch: Int32
    delete_partition: Bool


class _TopicState(NamedTuple):
    topic_name: String
    partition_states: Annotated[tuple[_PartitionState, ...], Structs(_PartitionState)]


class _Request(NamedTuple):
    controller_id: Int32
    is_kraft_controller: Annotated[Bool, Since(4)] = False
    controller_epoch: Int32 = 0
    broker_epoch: Annotated[Int64, Since(1, ignorable=True)] = NO_BROKER_EPOCH
    delete_partitions: Annotated[Bool, Until(2)] = False
    ungrouped_partitions: Annotated[tuple[_Partition, ...], Structs(_Partition), Until(0)] = ()
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic), Since(1, ignorable=True), Until(2)] = ()
    topic_states: Annotated[tuple[_TopicState, ...], Structs(_TopicState), Since(3, ignorable=True)] = ()


class _PartitionError(NamedTuple):
    topic_name: String
    partition_index: Int32
    error_code: Int16


class _Response(NamedTuple):
    error_code: Int16
    partition_errors: Annotated[tuple[_PartitionError, ...], Structs(_PartitionError)]


def _encode_request(request: StopReplicaRequest, version: int) -> _Request:
    topics = by_topic(request.partitions.items())
    start = _Request(
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        broker_epoch=request.broker_epoch,
        delete_partitions=any(each.delete for each in request.partitions.values()),
    )
    if version == 0:
        return start._replace(ungrouped_partitions=tuple(_Partition(*each) for each in request.partitions))
    if version < _SINCE_EPOCHS:
        listed = (_Topic(topic, tuple(number for number, _ in entries)) for topic, entries in topics.items())
        return start._replace(topics=tuple(listed))
    states = (
        _TopicState(topic, tuple(_PartitionState(number, *stopped) for number, stopped in entries))
        for topic, entries in topics.items()
    )
    return start._replace(topic_states=tuple(states))


def _decode_request(fields: _Request, version: int) -> StopReplicaRequest:
    if version >= _SINCE_EPOCHS:
        partitions = {
            TopicPartition(topic.topic_name, each.partition_index): StoppedReplica(*each[1:])
            for topic in fields.topic_states
            for each in topic.partition_states
        }
    else:
        listed = [TopicPartition(*each) for each in fields.ungrouped_partitions]
        listed += [TopicPartition(topic.name, number) for topic in fields.topics for number in topic.partition_indexes]
        partitions = dict.fromkeys(listed, StoppedReplica(delete=fields.delete_partitions))
    return StopReplicaRequest(
        controller_id=fields.controller_id,
        controller_epoch=fields.controller_epoch,
        broker_epoch=fields.broker_epoch,
        partitions=partitions,
    )


def _encode_response(response: StopReplicaResponse, _: int) -> _Response:
    return _Response(response.error, tuple(_PartitionError(*each, error) for each, error in response.errors.items()))


def _decode_response(fields: _Response, _: int) -> StopReplicaResponse:
    errors = {TopicPartition(topic, number): code_of(error) for topic, number, error in fields.partition_errors}
    return StopReplicaResponse(error=code_of(fields.error_code), errors=errors)


REQUEST: Final = Form("StopReplicaRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("StopReplicaResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
