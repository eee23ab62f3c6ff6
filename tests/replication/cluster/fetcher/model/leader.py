"""A leader's answers, as Kafka's Partition gives them."""

from epoch import UNDEFINED_END_OFFSET, AskEndOffset, UnknownEpochError, diverging_epoch
from replication.cluster.fetcher.decisions.actions import Append
from replication.cluster.fetcher.decisions.fetch_state_machine import (
    FetchQuestion,
    LeaderOffsets,
    OffsetsQuestion,
)
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.fetcher.model.replica import Answer, Log, Record, Replica

Question = AskEndOffset | OffsetsQuestion | FetchQuestion


def refusal(broker: Replica, leader_epoch: int, *, fences: bool) -> ErrorCode:
    """Decide whether a broker answers one who believes that it leads in this epoch."""
    if not broker.leads:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if not fences or broker.epoch == leader_epoch:
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if leader_epoch < broker.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH


def answer(leader: Replica, question: Question, limit: int) -> Answer:
    """Answer a question; a fetch with no more than `limit` records."""
    if isinstance(question, AskEndOffset):
        return Answer(ErrorCode.NONE, leader.history.end_offset_for(question.epoch, leader.end))
    if isinstance(question, OffsetsQuestion):
        return Answer(ErrorCode.NONE, LeaderOffsets(0, leader.end))
    return _fetched(leader, question, limit)


def agrees(leader: Replica, question: FetchQuestion) -> bool:
    """Tell whether a leader answers a fetch with records, were it none, and so learns how far the follower is."""
    return isinstance(answer(leader, question, 0).body, Append)


def _fetched(leader: Replica, question: FetchQuestion, limit: int) -> Answer:
    out_of_range = Answer(ErrorCode.OFFSET_OUT_OF_RANGE, UNDEFINED_END_OFFSET)
    if question.last_fetched_epoch >= 0:
        try:
            diverging = diverging_epoch(leader.history, leader.end, question.offset, question.last_fetched_epoch)
        except UnknownEpochError:
            return out_of_range
        if diverging is not None:
            return Answer(ErrorCode.NONE, diverging)
    if question.offset > leader.end:
        return out_of_range
    records = leader.log[question.offset : question.offset + limit]
    return Answer(ErrorCode.NONE, Append(encoded(records), leader.high_watermark, 0))


def encoded(records: Log) -> bytes:
    """Return records as they go over the wire."""
    return bytes(number for record in records for number in record)


def decoded(data: bytes | memoryview) -> Log:
    """Return the records that came over the wire."""
    return tuple(Record(epoch, value) for epoch, value in zip(data[::2], data[1::2], strict=True))
