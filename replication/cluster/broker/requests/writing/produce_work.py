"""One Produce from its batches to its answer."""

import time
from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from logstore import LogStoreError, TopicPartition
from logstore.append.append_info import AppendInfo
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import NO_PRODUCER_ID, TimestampType
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.transaction_guards import Guard
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.cluster.broker.requests.writing.append_refusal import APPEND_ERRORS, append_refusal
from replication.cluster.broker.requests.writing.awaited_append import AwaitedAppend
from replication.cluster.broker.requests.writing.internal_topics import INTERNAL_TOPICS
from replication.cluster.broker.requests.writing.pending_outcomes import PendingOutcomes
from replication.cluster.broker.requests.writing.sent_batch import sent_batch
from replication.wire.error_code import ErrorCode
from replication.wire.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse
from replication.wire.server.call import Call
from replication.wire.server.hang_up import HangUpError

ALL_IN_SYNC: Final = -1
_KNOWN_ACKS: Final = (ALL_IN_SYNC, 0, 1)
_SINCE_CURRENT_LEADER: Final = 10
_ADMIN_CLIENT: Final = "__admin_client"
"""The one client that may write to internal topics, by Kafka's own name for it."""
_NONE: Final = ErrorCode.NONE
_BY_LEADER: Final = TimestampType.LOG_APPEND_TIME
# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


class RefusedRequestError(Exception):
    """Nothing of the request is appended."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(error.name)
        self.answer: ProducedPartition = ProducedPartition(error, error_message=message)
        """For each partition."""


class TakenBatch(NamedTuple):
    """What was sent for a partition, where nothing speaks against it so far."""

    key: TopicPartition
    """As the request names it."""
    partition: TopicPartition
    hosted: HostedPartition | None
    topic_id: UUID | None
    records: memoryview
    transactional: RecordBatch | None
    """Its header, where it belongs to a transaction."""


class ProduceWork:
    """Appends what a request sends, and answers what became of it (Kafka: ReplicaManager.handleProduceAppend)."""

    def __init__(self, lookup: PartitionLookup, request: ProduceRequest, call: Call) -> None:
        """Look at all batches. Raises RefusedRequestError."""
        self.request = request
        self.taken: list[TakenBatch] = []
        self.answers: dict[TopicPartition, ProducedPartition] = {}
        """By the partitions as the request names them."""
        self._lookup = lookup
        self._call = call
        self._leaders: set[int] = set()
        is_transactional = is_spoiled = False
        for key, records in request.partitions.items():
            sent = sent_batch(records, call.version)
            if sent.error is ErrorCode.CORRUPT_MESSAGE and sent.spoils_request and not is_transactional:
                raise RefusedRequestError(sent.error, f"no batch begins in what was sent for {key}")
            is_transactional = is_transactional or sent.is_transactional
            self._take(key, records, sent.error, is_transactional=sent.is_transactional)
            is_spoiled = is_spoiled or (sent.spoils_request and self.answers[key].error is sent.error)
        if is_transactional and request.transactional_id is None:
            raise RefusedRequestError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if is_spoiled:
            raise RefusedRequestError(ErrorCode.UNKNOWN_SERVER_ERROR)
        self.is_transactional: bool = is_transactional
        """Whether a coordinator may have to be asked first."""

    def _take(
        self, key: TopicPartition, records: bytes | memoryview | None, error: ErrorCode, *, is_transactional: bool
    ) -> None:
        partition, topic_id = key, None
        if self.request.topic_ids:
            name, topic_id = self._lookup.topic(self.request.topic_ids[key.topic])
            if name is None:
                self.answers[key] = ProducedPartition(ErrorCode.UNKNOWN_TOPIC_ID)
                return
            partition = TopicPartition(name, key.partition)
        hosted = self._lookup.copy(partition)
        if hosted is None:
            error = self._lookup.unknown(partition) or error
        if error is not _NONE or records is None:
            self.answers[key] = ProducedPartition(error)
            return
        transactional = _transactional(records) if is_transactional else None
        taken = (key, partition, hosted, topic_id, records, transactional)
        self.taken.append(_build(TakenBatch, taken))

    def append(
        self,
        refusals: Mapping[TopicPartition, ProducedPartition] | None = None,
        guards: Mapping[TopicPartition, Guard] | None = None,
    ) -> ProduceResponse | PendingOutcomes | None:
        """Append all but what is refused already; return the answer, what waits for it, or None if none is wanted.

        Raises HangUpError where no answer can carry an error.
        """
        acks = self.request.acks
        awaited: list[AwaitedAppend] = []
        for taken in self.taken:
            refusal = refusals.get(taken.partition) if refusals else None
            if refusal is not None:
                self.answers[taken.key] = refusal
            elif acks not in _KNOWN_ACKS:
                self.answers[taken.key] = ProducedPartition(ErrorCode.INVALID_REQUIRED_ACKS)
            else:
                self._append(taken, guards.get(taken.partition) if guards else None, awaited)
        if acks == 0:
            self._ensure_no_errors()
            return None
        if not awaited:
            return self.response()
        pending = PendingOutcomes(self, self._lookup, awaited, time.monotonic() + self.request.timeout_ms / 1_000)
        return pending.answer() or pending

    def _append(self, taken: TakenBatch, guard: Guard | None, awaited: list[AwaitedAppend]) -> None:
        key, partition, hosted, topic_id, records, transactional = taken
        led = None if hosted is None else hosted.led
        is_named = hosted is not None and topic_id in (hosted.topic_id, None)
        if hosted is None or led is None or not is_named or partition.topic in INTERNAL_TOPICS:
            error = self._refusal(partition, hosted, topic_id)
            if error is not _NONE or hosted is None or led is None:
                self.refuse(key, partition, ProducedPartition(error))
                return
        acks = self.request.acks
        try:
            if transactional is None:
                info = led.append(records, required_acks=acks)
            else:
                info = hosted.guards.append(led, hosted.log, transactional, guard, required_acks=acks)
        except APPEND_ERRORS as failure:
            log = hosted.log
            refusal = append_refusal(failure, records, log.config, log.log_start_offset)
            hosted.traffic.refused(refusal.error)
            self.refuse(key, partition, refusal)
            return
        self.answers[key] = answer = _told(hosted, info)
        if acks == ALL_IN_SYNC:
            error_or_not_yet = led.replicated(info[1] + 1)
            if error_or_not_yet is None:
                awaited.append(AwaitedAppend(key, partition, hosted, led, info[1] + 1))
            elif error_or_not_yet is not _NONE:
                self.refuse(key, partition, answer._replace(error=error_or_not_yet))

    def _refusal(self, partition: TopicPartition, hosted: HostedPartition | None, topic_id: UUID | None) -> ErrorCode:
        if partition.topic in INTERNAL_TOPICS and self._call.client_id != _ADMIN_CLIENT:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if hosted is None:
            return self._lookup.absence(partition)
        if topic_id is not None and hosted.topic_id not in (topic_id, None):
            return ErrorCode.UNKNOWN_TOPIC_ID
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if hosted.led is None else _NONE

    # --- the answer

    def refuse(self, key: TopicPartition, partition: TopicPartition, answer: ProducedPartition) -> None:
        """Answer with an error, and with who leads where that is the error (KIP-951)."""
        if answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER and self._call.version >= _SINCE_CURRENT_LEADER:
            leader = self._lookup.leader(partition, self._lookup.copy(partition))
            self._leaders.add(leader.leader_id)
            answer = answer._replace(current_leader=leader)
        self.answers[key] = answer

    def settle(self, awaited: AwaitedAppend, error: ErrorCode) -> None:
        """Note the result of an append that was waited for."""
        if error is not _NONE:
            self.refuse(awaited.key, awaited.partition, self.answers[awaited.key]._replace(error=error))

    def response(self) -> ProduceResponse:
        """Return the answer as it is by now."""
        return ProduceResponse(
            partitions=self.answers,
            topic_ids=self.request.topic_ids,
            leaders=self._lookup.addresses(self._leaders, self._call.caller.listener) if self._leaders else {},
        )

    def _ensure_no_errors(self) -> None:
        errors = {str(key): answer.error.name for key, answer in self.answers.items() if answer.error is not _NONE}
        if errors:
            raise no_answer(errors)


def no_answer(errors: Mapping[str, str]) -> HangUpError:
    """Make the end of the connection of one who awaits no answer, and whose records were not all appended."""
    told = ", ".join(f"{partition}: {error}" for partition, error in errors.items())
    return HangUpError("produce", f"a producer with acks=0 cannot be informed in any other way of {told}")


def _transactional(records: bytes | memoryview) -> RecordBatch | None:
    """Return the batch's header; None where the log will refuse the batch for it, or it names no producer."""
    try:
        batch = RecordBatch(memoryview(records))
    except LogStoreError:
        return None
    return None if batch.producer_id == NO_PRODUCER_ID else batch


def _told(hosted: HostedPartition, info: AppendInfo) -> ProducedPartition:
    log = hosted.log
    first_offset, _, max_timestamp, _, is_duplicate = info
    # Of a duplicate Kafka tells the largest timestamp, whoever set it.
    is_by_leader = is_duplicate or log.config.message_timestamp_type is _BY_LEADER
    time_ms = max_timestamp if is_by_leader else -1
    return _build(ProducedPartition, (_NONE, first_offset, time_ms, log.log_start_offset, (), None, None))
