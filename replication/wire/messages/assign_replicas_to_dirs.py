"""AssignReplicasToDirs: a broker tells the controller in which of its directories its replicas lie (KIP-858)."""

from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Final, NamedTuple
from uuid import UUID

from replication.records.codec.codec import Structs
from replication.records.codec.fields import Int32, Int64, Uuid
from replication.wire.error_code import ErrorCode
from replication.wire.messages.field_types import Error
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class PlacedReplica(NamedTuple):
    """A replica of the broker, and the directory that it lies in, by its id."""

    directory_id: UUID
    topic_id: UUID
    partition: int


class PlacementAnswer(NamedTuple):
    """What became of one placement."""

    directory_id: UUID
    topic_id: UUID
    partition: int
    error: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignReplicasToDirsResponse:
    """The answer to an AssignReplicasToDirsRequest."""

    error: ErrorCode = ErrorCode.NONE
    """What is wrong with the request as a whole, such as STALE_BROKER_EPOCH."""
    answers: tuple[PlacementAnswer, ...] = ()
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignReplicasToDirsRequest(Request[AssignReplicasToDirsResponse]):
    """Asks that the metadata say where replicas lie (Kafka: AssignReplicasToDirsRequest)."""

    broker_id: int
    broker_epoch: int
    replicas: tuple[PlacedReplica, ...]


API_KEY: Final = 73
VERSIONS: Final = range(1)


class _Partition(NamedTuple):
    partition: Int32


class _Topic(NamedTuple):
    topic_id: Uuid
    partitions: Annotated[tuple[_Partition, ...], Structs(_Partition)]


class _Directory(NamedTuple):
    directory_id: Uuid
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)]


class _Request(NamedTuple):
    broker_id: Int32
    broker_epoch: Int64
    directories: Annotated[tuple[_Directory, ...], Structs(_Directory)]


class _Answer(NamedTuple):
    partition: Int32
    error: Error


class _ToldTopic(NamedTuple):
    topic_id: Uuid
    answers: Annotated[tuple[_Answer, ...], Structs(_Answer)]


class _ToldDirectory(NamedTuple):
    directory_id: Uuid
    topics: Annotated[tuple[_ToldTopic, ...], Structs(_ToldTopic)]


class _Response(NamedTuple):
    throttle_time_ms: Int32
    error: Error
    directories: Annotated[tuple[_ToldDirectory, ...], Structs(_ToldDirectory)]


_directory_id: Final = attrgetter("directory_id")
_topic_id: Final = attrgetter("topic_id")


def _encode_request(request: AssignReplicasToDirsRequest, _: int) -> _Request:
    directories = tuple(
        _Directory(
            directory_id,
            tuple(
                _Topic(topic_id, tuple(_Partition(each.partition) for each in of_topic))
                for topic_id, of_topic in groupby(replicas, _topic_id)
            ),
        )
        for directory_id, replicas in groupby(request.replicas, _directory_id)
    )
    return _Request(request.broker_id, request.broker_epoch, directories)


def _decode_request(fields: _Request, _: int) -> AssignReplicasToDirsRequest:
    replicas = tuple(
        PlacedReplica(directory.directory_id, topic.topic_id, each.partition)
        for directory in fields.directories
        for topic in directory.topics
        for each in topic.partitions
    )
    return AssignReplicasToDirsRequest(broker_id=fields.broker_id, broker_epoch=fields.broker_epoch, replicas=replicas)


def _encode_response(response: AssignReplicasToDirsResponse, _: int) -> _Response:
    directories = tuple(
        _ToldDirectory(
            directory_id,
            tuple(
                _ToldTopic(topic_id, tuple(_Answer(each.partition, each.error) for each in of_topic))
                for topic_id, of_topic in groupby(answers, _topic_id)
            ),
        )
        for directory_id, answers in groupby(response.answers, _directory_id)
    )
    return _Response(response.throttle_time_ms, response.error, directories)


def _decode_response(fields: _Response, _: int) -> AssignReplicasToDirsResponse:
    answers = tuple(
        PlacementAnswer(directory.directory_id, topic.topic_id, *each)
        for directory in fields.directories
        for topic in directory.topics
        for each in topic.answers
    )
    return AssignReplicasToDirsResponse(error=fields.error, answers=answers, throttle_time_ms=fields.throttle_time_ms)


REQUEST: Final = Form("AssignReplicasToDirsRequest", _Request, 0, _encode_request, _decode_request)
RESPONSE: Final = Form("AssignReplicasToDirsResponse", _Response, 0, _encode_response, _decode_response)
