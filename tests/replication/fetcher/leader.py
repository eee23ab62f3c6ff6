"""A leader without a network: answers a follower's requests from real logs, as a broker does."""

from dataclasses import dataclass, field
from uuid import UUID

from epoch import UNDEFINED_END_OFFSET, UnknownEpochError, diverging_epoch
from logstore import Isolation, Log, OffsetOutOfRangeError, TopicPartition
from replication.fetcher.fetcher import FetcherRequest, FetcherResponse
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.fetch import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from replication.protocol.messages.list_offsets import LATEST, ListedOffset, ListOffsetsRequest, ListOffsetsResponse
from replication.protocol.messages.offset_for_leader_epoch import (
    EpochAnswer,
    EpochQuestion,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

MIRROR = -1


@dataclass
class Led:
    """A partition that is led here."""

    log: Log
    leader_epoch: int
    topic_id: UUID | None = None

    def refuse(self, current_leader_epoch: int) -> ErrorCode:
        if current_leader_epoch in {-1, self.leader_epoch}:
            return ErrorCode.NONE
        if current_leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH


@dataclass
class Session:
    """What a follower has asked for, and what it was told last (Kafka: FetchSession)."""

    epoch: int = 0
    asked: dict[TopicPartition, FetchPartition] = field(default_factory=dict)
    told: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)


@dataclass
class Leader:
    """Answers from its logs; `sessions=False` has no room for sessions."""

    partitions: dict[TopicPartition, Led] = field(default_factory=dict)
    sessions: bool = True
    _sessions: dict[int, Session] = field(default_factory=dict)
    asked: list[FetcherRequest] = field(default_factory=list)
    """All requests, for who wants to see them."""
    reached: dict[tuple[int, TopicPartition], int] = field(default_factory=dict)
    """Up to where replicas have fetched, as a leader knows from what they ask for next."""

    def lead(self, partition: TopicPartition, log: Log, leader_epoch: int, topic_id: UUID | None = None) -> None:
        self.partitions[partition] = Led(log, leader_epoch, topic_id)

    def forget_sessions(self) -> None:
        self._sessions.clear()

    def answer(self, request: FetcherRequest) -> FetcherResponse:
        self.asked.append(request)
        if isinstance(request, FetchRequest):
            return self._fetch(request)
        if isinstance(request, ListOffsetsRequest):
            return self._offsets(request)
        return self._epochs(request)

    def _epochs(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse(
            partitions={each: self._epoch(each, question) for each, question in request.partitions.items()}
        )

    def _epoch(self, partition: TopicPartition, question: EpochQuestion) -> EpochAnswer:
        led = self.partitions.get(partition)
        if led is None:
            return EpochAnswer(ErrorCode.NOT_LEADER_OR_FOLLOWER, UNDEFINED_END_OFFSET)
        error = led.refuse(question.current_leader_epoch)
        end = led.log.end_offset_for_epoch(question.leader_epoch) if error is ErrorCode.NONE else None
        return EpochAnswer(error, end or UNDEFINED_END_OFFSET)

    def _offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        answers = {}
        for partition, question in request.partitions.items():
            led = self.partitions.get(partition)
            if led is None:
                answers[partition] = ListedOffset(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
                continue
            error = led.refuse(question.current_leader_epoch)
            end = led.log.high_watermark if request.replica_id == MIRROR else led.log.log_end_offset
            offset = end if question.timestamp == LATEST else led.log.log_start_offset
            answers[partition] = ListedOffset(error, offset if error is ErrorCode.NONE else -1)
        return ListOffsetsResponse(partitions=answers)

    def _fetch(self, request: FetchRequest) -> FetchResponse:
        session = self._session(request)
        if isinstance(session, ErrorCode):
            return FetchResponse(error=session, partitions={})
        full = request.session_epoch <= 0
        answers = {}
        for partition, asked in session.asked.items():
            answer = self._read(partition, asked, request)
            told = (answer.high_watermark, answer.log_start_offset)
            news = answer.error is not ErrorCode.NONE or answer.diverging_epoch is not None or len(answer.records) > 0
            if full or news or session.told.get(partition) != told:
                answers[partition] = answer
                # After an error the high watermark is told once more.
                session.told[partition] = told if answer.error is ErrorCode.NONE else (-1, -1)
        session_id = next((each for each, known in self._sessions.items() if known is session), 0)
        return FetchResponse(session_id=session_id, partitions=answers)

    def _session(self, request: FetchRequest) -> Session | ErrorCode:
        if request.session_epoch <= 0:
            self._sessions.pop(request.session_id, None)
            session = Session(asked=dict(request.partitions))
            if self.sessions and request.session_epoch == 0:
                self._sessions[max(self._sessions, default=0) + 1] = session
            return session
        known = self._sessions.get(request.session_id)
        if known is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if request.session_epoch != known.epoch + 1:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        known.epoch += 1
        known.asked |= request.partitions
        for partition in request.forgotten:
            del known.asked[partition]
            known.told.pop(partition, None)
        return known

    def _read(self, partition: TopicPartition, asked: FetchPartition, request: FetchRequest) -> FetchedPartition:
        led = self.partitions.get(partition)
        if led is None:
            return FetchedPartition(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        if led.topic_id is not None and request.topic_ids.get(partition.topic) != led.topic_id:
            return FetchedPartition(ErrorCode.UNKNOWN_TOPIC_ID, -1)
        error = led.refuse(asked.current_leader_epoch)
        if error is not ErrorCode.NONE:
            return FetchedPartition(error, -1)
        answer = _read(led.log, asked, mirror=request.replica_id == MIRROR)
        if answer.error is ErrorCode.NONE and answer.diverging_epoch is None:
            self.reached[request.replica_id, partition] = asked.fetch_offset
        return answer


def _read(log: Log, asked: FetchPartition, *, mirror: bool) -> FetchedPartition:
    if not mirror and asked.last_fetched_epoch >= 0:
        try:
            end = diverging_epoch(log.epochs.history, log.log_end_offset, asked.fetch_offset, asked.last_fetched_epoch)
        except UnknownEpochError:
            return FetchedPartition(ErrorCode.OFFSET_OUT_OF_RANGE, log.high_watermark, log.log_start_offset)
        if end is not None:
            return FetchedPartition(ErrorCode.NONE, log.high_watermark, log.log_start_offset, diverging_epoch=end)
    isolation = Isolation.HIGH_WATERMARK if mirror else Isolation.LOG_END
    try:
        view = log.read(asked.fetch_offset, asked.max_bytes, isolation=isolation)
    except OffsetOutOfRangeError:
        return FetchedPartition(ErrorCode.OFFSET_OUT_OF_RANGE, log.high_watermark, log.log_start_offset)
    return FetchedPartition(ErrorCode.NONE, log.high_watermark, log.log_start_offset, bytes(view.data))
