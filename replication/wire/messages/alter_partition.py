"""AlterPartition: a leader asks the controller for other replicas in the ISR (KIP-497, KIP-704, KIP-841, KIP-903)."""

from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Final, NamedTuple
from uuid import UUID

from replication.records.codec.codec import Since, Structs, Until
from replication.records.codec.fields import Int8, Int32, Int32s, Int64, Uuid
from replication.wire.error_code import ErrorCode
from replication.wire.messages.field_types import Error
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request

ANY_BROKER_EPOCH: Final = -1
"""Of a follower that does not say in which epoch its broker is registered."""
_RECOVERED: Final = 0
_NO_LEADER: Final = -1
_UNKNOWN_EPOCH: Final = -1


class InSyncReplica(NamedTuple):
    """A replica that shall be in sync, as of one registration of its broker."""

    broker_id: Int32
    broker_epoch: Int64 = ANY_BROKER_EPOCH
    """From version 3 on (KIP-903)."""


class IsrChange(NamedTuple):
    """The ISR that a leader wants for a partition, and from which state of it that starts."""

    topic_id: UUID
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[InSyncReplica, ...]
    leader_recovery_state: int = _RECOVERED
    """RECOVERED, as in Kafka: what an unclean election left is the partition's log from now on."""

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The ISR without the epochs."""
        return tuple(replica.broker_id for replica in self.isr)


class IsrAnswer(NamedTuple):
    """What became of one change: the partition as it then is, or why not."""

    topic_id: UUID
    partition: int
    error: ErrorCode
    leader: int = _NO_LEADER
    leader_epoch: int = _UNKNOWN_EPOCH
    isr: tuple[int, ...] = ()
    leader_recovery_state: int = _RECOVERED
    partition_epoch: int = _UNKNOWN_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionResponse:
    """The answer to an AlterPartitionRequest."""

    error: ErrorCode = ErrorCode.NONE
    """What is wrong with the request as a whole, such as STALE_BROKER_EPOCH."""
    answers: tuple[IsrAnswer, ...] = ()
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionRequest(Request[AlterPartitionResponse]):
    """Asks for the changes that a broker wants of partitions that it leads (Kafka: AlterPartitionRequest)."""

    broker_id: int
    broker_epoch: int
    changes: tuple[IsrChange, ...]


API_KEY: Final = 56
VERSIONS: Final = range(2, 4)

_SINCE_EPOCHS: Final = 3


class _Change(NamedTuple):
    partition: Int32
    leader_epoch: Int32
    broker_ids: Annotated[Int32s, Until(2)] = ()
    isr: Annotated[tuple[InSyncReplica, ...], Structs(InSyncReplica), Since(_SINCE_EPOCHS, ignorable=True)] = ()
    leader_recovery_state: Int8 = _RECOVERED
    partition_epoch: Int32 = _UNKNOWN_EPOCH


class _Topic(NamedTuple):
    topic_id: Uuid
    changes: Annotated[tuple[_Change, ...], Structs(_Change)]


class _Request(NamedTuple):
    broker_id: Int32
    broker_epoch: Int64
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)]


class _Answer(NamedTuple):
    partition: Int32
    error: Error
    leader: Int32
    leader_epoch: Int32
    isr: Int32s
    leader_recovery_state: Int8
    partition_epoch: Int32


class _ToldTopic(NamedTuple):
    topic_id: Uuid
    answers: Annotated[tuple[_Answer, ...], Structs(_Answer)]


class _Response(NamedTuple):
    throttle_time_ms: Int32
    error: Error
    topics: Annotated[tuple[_ToldTopic, ...], Structs(_ToldTopic)]


def _topic_id(of: IsrChange | IsrAnswer) -> UUID:
    return of.topic_id


def _encode_request(request: AlterPartitionRequest, _: int) -> _Request:
    topics = tuple(
        _Topic(
            topic_id,
            tuple(
                _Change(
                    each.partition,
                    each.leader_epoch,
                    each.broker_ids,
                    each.isr,
                    each.leader_recovery_state,
                    each.partition_epoch,
                )
                for each in changes
            ),
        )
        for topic_id, changes in groupby(request.changes, _topic_id)
    )
    return _Request(request.broker_id, request.broker_epoch, topics)


def _decode_request(fields: _Request, version: int) -> AlterPartitionRequest:
    changes = tuple(
        IsrChange(
            topic.topic_id,
            each.partition,
            each.leader_epoch,
            each.partition_epoch,
            each.isr if version >= _SINCE_EPOCHS else tuple(map(InSyncReplica, each.broker_ids)),
            each.leader_recovery_state,
        )
        for topic in fields.topics
        for each in topic.changes
    )
    return AlterPartitionRequest(broker_id=fields.broker_id, broker_epoch=fields.broker_epoch, changes=changes)


def _encode_response(response: AlterPartitionResponse, _: int) -> _Response:
    topics = tuple(
        _ToldTopic(topic_id, tuple(_Answer(*each[1:]) for each in answers))
        for topic_id, answers in groupby(response.answers, _topic_id)
    )
    return _Response(response.throttle_time_ms, response.error, topics)


def _decode_response(fields: _Response, _: int) -> AlterPartitionResponse:
    answers = tuple(IsrAnswer(topic.topic_id, *each) for topic in fields.topics for each in topic.answers)
    return AlterPartitionResponse(error=fields.error, answers=answers, throttle_time_ms=fields.throttle_time_ms)


REQUEST: Final = Form("AlterPartitionRequest", _Request, 0, _encode_request, _decode_request)
RESPONSE: Final = Form("AlterPartitionResponse", _Response, 0, _encode_response, _decode_response)
