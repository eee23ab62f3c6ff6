"""OffsetForLeaderEpoch: where an epoch ended in the leader's log (KIP-101, KIP-279, KIP-320)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, Final, NamedTuple

from epoch import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET, EndOffset
from logstore import TopicPartition
from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Int16, Int32, Int64, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.form import Form
from replication.wire.messages.replica_id import CONSUMER
from replication.wire.messages.request import Request


class EpochQuestion(NamedTuple):
    """Asks where `leader_epoch` ended."""

    current_leader_epoch: int
    """The epoch in which the asker believes the leader to lead, or -1; a leader in another refuses (KIP-320; v2)."""
    leader_epoch: int


class EpochAnswer(NamedTuple):
    """The largest epoch up to the one asked for that the leader knows, and where it ended (Kafka: EpochEndOffset)."""

    error: ErrorCode
    end: EndOffset
    """Of epoch -1 from a leader that answers version 0, which has only the offset (KIP-279)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochResponse:
    """The answer to an OffsetForLeaderEpochRequest."""

    throttle_time_ms: int = 0
    partitions: Mapping[TopicPartition, EpochAnswer]
    repeated: Sequence[tuple[TopicPartition, EpochAnswer]] = ()
    """All answers in the order of the questions, where some name a partition again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochRequest(Request[OffsetForLeaderEpochResponse]):
    """Asks about epochs of partitions, one each (Kafka: OffsetsForLeaderEpochRequest).

    Below version 3 a broker with an authorizer answers only those who may act for the cluster.
    """

    partitions: Mapping[TopicPartition, EpochQuestion]
    replica_id: int = CONSUMER
    """Sent from version 3 on."""
    repeated: Sequence[tuple[TopicPartition, EpochQuestion]] = ()
    """All questions in their order, where some name a partition again, as only in a request that was read."""


API_KEY: Final = 23
VERSIONS: Final = range(5)
"""0 and 1 are those of Kafka before 2.1; 4.0 no longer answers them."""

_FLEXIBLE_SINCE: Final = 4
# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


class _Question(NamedTuple):
    partition: Int32
    current_leader_epoch: Annotated[Int32, Since(2, ignorable=True)] = -1
    leader_epoch: Int32 = 0


class _Questions(NamedTuple):
    topic: String
    partitions: Annotated[tuple[_Question, ...], Structs(_Question, plain=True)]


class _Request(NamedTuple):
    replica_id: Annotated[Int32, Since(3, ignorable=True)] = CONSUMER
    topics: Annotated[tuple[_Questions, ...], Structs(_Questions)] = ()


class _Answer(NamedTuple):
    error: Int16
    partition: Int32
    leader_epoch: Annotated[Int32, Since(1, ignorable=True)] = UNDEFINED_EPOCH
    end_offset: Int64 = UNDEFINED_EPOCH_OFFSET


class _Answers(NamedTuple):
    topic: String
    partitions: Annotated[tuple[_Answer, ...], Structs(_Answer, plain=True)]


class _Response(NamedTuple):
    throttle_time_ms: Annotated[Int32, Since(2, ignorable=True)] = 0
    topics: Annotated[tuple[_Answers, ...], Structs(_Answers)] = ()


def _encode_request(request: OffsetForLeaderEpochRequest, _: int) -> tuple[Any, ...]:
    topics = by_topic(request.partitions.items())
    return request.replica_id, [(topic, [(index, *asked) for index, asked in asked]) for topic, asked in topics.items()]


def _decode_request(fields: _Request, _: int) -> OffsetForLeaderEpochRequest:
    partitions = {
        _build(TopicPartition, (topic, index)): _build(EpochQuestion, (current_leader_epoch, leader_epoch))
        for topic, questions in fields.topics
        for index, current_leader_epoch, leader_epoch in questions
    }
    is_repeating = len(partitions) < sum(len(questions) for _, questions in fields.topics)
    repeated = tuple(_questions(fields)) if is_repeating else ()
    return OffsetForLeaderEpochRequest(partitions=partitions, replica_id=fields.replica_id, repeated=repeated)


def _questions(fields: _Request) -> Iterator[tuple[TopicPartition, EpochQuestion]]:
    return (
        (TopicPartition(topic, index), EpochQuestion(current_leader_epoch, leader_epoch))
        for topic, questions in fields.topics
        for index, current_leader_epoch, leader_epoch in questions
    )


def _encode_response(response: OffsetForLeaderEpochResponse, _: int) -> tuple[Any, ...]:
    topics = by_topic(response.partitions.items()).items() if not response.repeated else _in_order(response.repeated)
    return response.throttle_time_ms, [
        (topic, [(error, index, epoch, end_offset) for index, (error, (epoch, end_offset)) in answers])
        for topic, answers in topics
    ]


def _in_order(
    answers: Iterable[tuple[TopicPartition, EpochAnswer]],
) -> Iterator[tuple[str, list[tuple[int, EpochAnswer]]]]:
    for topic, some in groupby(answers, key=lambda each: each[0].topic):
        yield topic, [(partition.partition, answer) for partition, answer in some]


def _decode_response(fields: _Response, _: int) -> OffsetForLeaderEpochResponse:
    partitions = {
        TopicPartition(topic, index): EpochAnswer(code_of(error), EndOffset(leader_epoch, end_offset))
        for topic, answers in fields.topics
        for error, index, leader_epoch, end_offset in answers
    }
    is_repeating = len(partitions) < sum(len(answers) for _, answers in fields.topics)
    repeated = tuple(_answers(fields)) if is_repeating else ()
    return OffsetForLeaderEpochResponse(
        throttle_time_ms=fields.throttle_time_ms, partitions=partitions, repeated=repeated
    )


def _answers(fields: _Response) -> Iterator[tuple[TopicPartition, EpochAnswer]]:
    return (
        (TopicPartition(topic, index), EpochAnswer(code_of(error), EndOffset(leader_epoch, end_offset)))
        for topic, answers in fields.topics
        for error, index, leader_epoch, end_offset in answers
    )


REQUEST: Final = Form("OffsetForLeaderEpochRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("OffsetForLeaderEpochResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
