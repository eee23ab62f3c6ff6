"""What a broker answers to clients while its session is over."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from logstore.log.state.waiters import Waiter
from replication.base.clock import monotonic_ms
from replication.cluster.broker.events.trouble import TellTrouble, Trouble, untold
from replication.cluster.broker.events.trouble_events import TroubleKind
from replication.cluster.broker.lifecycle.own_session import OwnSession
from replication.cluster.broker.requests.writing.produce_work import ALL_IN_SYNC, no_answer
from replication.wire.error_code import ErrorCode
from replication.wire.messages import fetch, list_offsets, produce
from replication.wire.messages.fetch import (
    FINAL_SESSION_EPOCH,
    INITIAL_SESSION_EPOCH,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
)
from replication.wire.messages.list_offsets import ListedOffset, ListOffsetsRequest, ListOffsetsResponse
from replication.wire.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse
from replication.wire.server.call import Call
from replication.wire.server.pending import NO_ANSWER, Pending
from replication.wire.server.served_api import ServedApis

_REFUSAL: Final = ErrorCode.NOT_LEADER_OR_FOLLOWER
_Answer = Callable[[Any, Call], Any]


class SessionGuard:
    """Refuses producers and consumers then (NOT_LEADER_OR_FOLLOWER), upon which they ask who leads.

    Followers are answered on: they know the leader's epoch, and have to be there for acks=all.
    """

    def __init__(
        self, session: OwnSession, clock: Callable[[], int] = monotonic_ms, tell: TellTrouble = untold
    ) -> None:
        """`clock` is the session's; `tell` is called when the first client is refused, and when one is served again."""
        self._session: Final = session
        self._clock: Final = clock
        self._trouble: Final = Trouble(TroubleKind.SESSION, tell=tell, clock=clock)

    def guarded(self, apis: ServedApis) -> ServedApis:
        """Return the APIs, of which those that need a leader are answered only while the session lasts."""
        guards: dict[int, Callable[[_Answer], _Answer]] = {
            produce.API_KEY: self.produce,
            fetch.API_KEY: self.fetch,
            list_offsets.API_KEY: self.list_offsets,
        }
        guarded = {key: replace(apis[key], answer=guard(apis[key].answer)) for key, guard in guards.items()}
        return {**apis, **guarded}

    def produce(self, answer: _Answer) -> _Answer:
        """Return what answers Produce: nothing is appended, and nothing acknowledged that was just appended."""

        def guarded(request: ProduceRequest, call: Call) -> Any:
            renewed_at = self._session.renewed_at
            if self._is_over():
                return _refused_produce(request)
            answered = answer(request, call)
            if request.acks == ALL_IN_SYNC:
                return answered  # all in sync have it: no leader lacks it
            return self._unless_over(answered, renewed_at, lambda: _refused_produce(request))

        return guarded

    def fetch(self, answer: _Answer) -> _Answer:
        """Return what answers Fetch: a consumer is refused, also one that waits for records as the session ends."""

        def guarded(request: FetchRequest, call: Call) -> Any:
            if request.replica_id >= 0:
                return answer(request, call)
            renewed_at = self._session.renewed_at
            if self._is_over():
                return _refused_fetch(request)
            return self._unless_over(answer(request, call), renewed_at, lambda: _refused_fetch(request))

        return guarded

    def list_offsets(self, answer: _Answer) -> _Answer:
        """Return what answers ListOffsets."""

        def guarded(request: ListOffsetsRequest, call: Call) -> Any:
            if request.replica_id < 0 and self._is_over():
                return ListOffsetsResponse(partitions=dict.fromkeys(request.partitions, ListedOffset(_REFUSAL, -1)))
            return answer(request, call)

        return guarded

    def _is_over(self) -> bool:
        if not self._session.is_over(self._clock()):
            self._trouble.end()
            return False
        if self._session.has_begun:  # nobody expects a broker that starts to serve
            self._trouble.begin("this broker refuses clients: by its own clock the controller may have fenced it")
        return True

    def _unless_over(self, answered: Any, renewed_at: int, refused: Callable[[], Any]) -> Any:
        """Refuse what was done while the session ran out, also where it goes on since: it is asked again."""
        if answered is None or answered is NO_ANSWER:
            return answered
        if not isinstance(answered, ProduceResponse | FetchResponse):
            return _GuardedPending(answered, lambda done: self._unless_over(done, renewed_at, refused))
        is_doubtful = self._is_over() or self._session.renewed_at != renewed_at
        return refused() if is_doubtful else answered


class _GuardedPending:
    """Looks at an answer once it comes."""

    def __init__(self, pending: Pending, looked_at: Callable[[Any], Any]) -> None:
        self._pending: Final = pending
        self._looked_at: Final = looked_at

    @property
    def deadline(self) -> float:
        return self._pending.deadline

    def attend(self, waiter: Waiter) -> None:
        self._pending.attend(waiter)

    def leave(self, waiter: Waiter) -> None:
        self._pending.leave(waiter)

    def answer(self) -> Any | None:
        return self._looked_at(self._pending.answer())

    def expire(self) -> Any | None:
        return self._looked_at(self._pending.expire())


def _refused_produce(request: ProduceRequest) -> ProduceResponse:
    if request.acks == 0:
        raise no_answer({str(key): _REFUSAL.name for key in request.partitions})
    return ProduceResponse(
        partitions=dict.fromkeys(request.partitions, ProducedPartition(_REFUSAL)), topic_ids=request.topic_ids
    )


def _refused_fetch(request: FetchRequest) -> FetchResponse:
    """Refuse each partition; a session would have to know which ones those are, so it ends."""
    if request.session_epoch not in (INITIAL_SESSION_EPOCH, FINAL_SESSION_EPOCH):
        return FetchResponse(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, partitions={})
    partitions = dict.fromkeys(request.partitions, FetchedPartition(_REFUSAL, -1))
    return FetchResponse(partitions=partitions, topic_ids=request.topic_ids)
