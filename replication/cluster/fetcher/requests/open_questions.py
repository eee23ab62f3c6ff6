"""Questions about truncation that a leader has yet to answer."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from logstore import TopicPartition
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.decisions.fetch_state_machine import LeaderOffsets
from replication.cluster.fetcher.fetcher_settings import FetchIdentity
from replication.wire.messages.list_offsets import (
    EARLIEST,
    LATEST,
    ListedOffset,
    ListOffsetsRequest,
    OffsetQuestion,
)
from replication.wire.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest

TruncationRequest = OffsetForLeaderEpochRequest | ListOffsetsRequest


class _Asked(NamedTuple):
    request: TruncationRequest
    states: Mapping[TopicPartition, FetchState]


class OpenQuestions:
    """What was asked, and how partitions stood then: an answer counts only for those that still stand so."""

    def __init__(self, identity: FetchIdentity) -> None:
        """Ask as this one."""
        self._identity = identity
        self._asked: list[_Asked] = []
        self._latest: dict[TopicPartition, tuple[FetchState, int]] = {}
        """Where logs end of which it is still to be learnt where they start."""

    def __bool__(self) -> bool:
        return bool(self._asked)

    def clear(self) -> None:
        """Expect no answer any more."""
        self._asked.clear()
        self._latest.clear()

    def ask_epochs(self, epochs: Mapping[TopicPartition, tuple[FetchState, int]]) -> Iterable[TruncationRequest]:
        """Ask where these epochs end in the leader's logs."""
        if epochs:
            questions = {
                partition: EpochQuestion(state.leader_epoch, epoch) for partition, (state, epoch) in epochs.items()
            }
            request = OffsetForLeaderEpochRequest(partitions=questions, replica_id=self._identity.replica_id)
            yield self._ask(request, {partition: state for partition, (state, _) in epochs.items()})

    def ask_offsets(self, states: Mapping[TopicPartition, FetchState]) -> Iterable[TruncationRequest]:
        """Ask where the leader's logs end, and then where they start."""
        for which in (LATEST, EARLIEST) if states else ():
            questions = {partition: OffsetQuestion(which, state.leader_epoch) for partition, state in states.items()}
            request = ListOffsetsRequest(partitions=questions, replica_id=self._identity.offsets_replica_id)
            yield self._ask(request, states)

    def answered(self, request: TruncationRequest) -> Mapping[TopicPartition, FetchState]:
        """Return how the partitions stood that were asked about; none where nobody asked, or it has failed."""
        for position, asked in enumerate(self._asked):
            if asked.request is request:
                del self._asked[position]
                return asked.states
        return {}

    def offsets(
        self, partition: TopicPartition, state: FetchState, question: OffsetQuestion, answer: ListedOffset
    ) -> LeaderOffsets | None:
        """Return where the leader's log starts and ends, once both are known; without error, that is."""
        if question.timestamp == LATEST:
            self._latest[partition] = (state, answer.offset)
            return None
        asked, latest = self._latest.pop(partition, (None, -1))
        return LeaderOffsets(answer.offset, latest) if asked is state else None

    def _ask(self, request: TruncationRequest, states: Mapping[TopicPartition, FetchState]) -> TruncationRequest:
        self._asked.append(_Asked(request, states))
        return request
