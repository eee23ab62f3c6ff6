"""A leader that may have been replaced, by its own clock, acknowledges nothing and is not read."""

from collections.abc import Callable
from typing import Any

import pytest

from logstore import TopicPartition
from replication.cluster.broker.lifecycle.own_session import OwnSession
from replication.cluster.node.session_guard import SessionGuard
from replication.wire.error_code import ErrorCode
from replication.wire.messages import fetch, list_offsets, produce
from replication.wire.messages.fetch import (
    FINAL_SESSION_EPOCH,
    INITIAL_SESSION_EPOCH,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from replication.wire.messages.list_offsets import LATEST, ListOffsetsRequest, OffsetQuestion
from replication.wire.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse
from replication.wire.server.call import Call, Caller
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.pending import NO_ANSWER
from replication.wire.server.served_api import ServedApi
from tests.replication.cluster.broker.events.heard_troubles import HeardTroubles

ORDERS = TopicPartition("orders", 0)
CALL = Call(11, Caller("127.0.0.1"))
ANSWER = object()
REFUSED = ErrorCode.NOT_LEADER_OR_FOLLOWER
APPENDED = ProduceResponse(partitions={ORDERS: ProducedPartition(ErrorCode.NONE)}, topic_ids={})
READ = FetchResponse(partitions={ORDERS: FetchedPartition(ErrorCode.NONE, 9)})


class Waits:
    """Answers what it is given."""

    deadline = 7.0

    def __init__(self) -> None:
        self.told: Any = None

    def attend(self, _: object) -> None: ...

    def leave(self, _: object) -> None: ...

    def answer(self) -> Any:
        return self.told

    def expire(self) -> Any:
        return self.told


class Broker:
    """Heard of its controller at 0; a session lasts 100."""

    def __init__(
        self, meanwhile: Callable[["Broker"], None] = lambda _: None, answer: Any = APPENDED, *, is_heard: bool = True
    ) -> None:
        self.now, self.appended = 0, 0
        self.read: Any = READ
        self._meanwhile, self._answer = meanwhile, answer
        self.session = OwnSession(100)
        self.session.registered(0)
        if is_heard:
            self.session.heard(0, 0)
        other = ServedApi(range(12), lambda *_: ANSWER)
        apis = {0: ServedApi(range(12), self._append), 1: ServedApi(range(12), self._read), 2: other, 3: other}
        self.told = HeardTroubles()
        self._apis = SessionGuard(self.session, lambda: self.now, self.told).guarded(apis)

    def _append(self, *_: object) -> Any:
        self.appended += 1
        self._meanwhile(self)
        return self._answer

    def _read(self, *_: object) -> Any:
        self._meanwhile(self)
        return self.read

    def ask(self, request: Any, api_key: int) -> Any:
        return self._apis[api_key].answer(request, CALL)

    def produce(self, acks: int = 1) -> Any:
        request = ProduceRequest(partitions={ORDERS: b""}, acks=acks, timeout_ms=1_000, topic_ids={})
        return self.ask(request, produce.API_KEY)

    def error(self) -> ErrorCode:
        error: ErrorCode = self.produce().partitions[ORDERS].error
        return error

    def fetch(self, **fields: int) -> Any:
        return self.ask(FetchRequest(partitions={ORDERS: FetchPartition(5, 1 << 20)}, **fields), fetch.API_KEY)

    def list_offsets(self, **fields: int) -> Any:
        asked = ListOffsetsRequest(partitions={ORDERS: OffsetQuestion(LATEST)}, **fields)
        return self.ask(asked, list_offsets.API_KEY)

    def renew(self) -> None:
        self.session.heard(self.now, self.now)
        self.session.metadata_applied(self.now + 1)


def late(broker: Broker) -> None:
    broker.now = 100


def late_and_renewed(broker: Broker) -> None:
    late(broker)
    broker.renew()


def test_all_are_served_while_the_session_lasts() -> None:
    broker = Broker()
    broker.now = 99
    assert broker.produce() is APPENDED
    assert broker.fetch() is READ
    assert broker.list_offsets() is ANSWER


def test_nothing_is_appended_once_it_is_over_and_again_once_it_is_renewed() -> None:
    broker = Broker()
    late(broker)
    assert broker.error() is REFUSED
    assert broker.appended == 0
    broker.renew()
    assert broker.error() is ErrorCode.NONE


def test_that_clients_are_refused_is_told_once_and_that_they_are_served_again() -> None:
    broker = Broker()
    broker.produce()
    late(broker)
    for _ in range(3):
        broker.produce()
        broker.fetch()
    assert broker.told == ["session"]
    broker.renew()
    for _ in range(2):
        broker.list_offsets()
    assert broker.told == ["session", "session over"]


def test_a_broker_that_starts_tells_of_nobody_whom_it_refuses() -> None:
    broker = Broker(is_heard=False)
    assert broker.error() is REFUSED
    assert broker.told == []


@pytest.mark.parametrize("session_epoch", [INITIAL_SESSION_EPOCH, FINAL_SESSION_EPOCH])
def test_consumers_are_refused_once_it_is_over(session_epoch: int) -> None:
    broker = Broker()
    late(broker)
    assert broker.fetch(session_epoch=session_epoch).partitions[ORDERS].error is REFUSED
    assert broker.list_offsets().partitions[ORDERS].error is REFUSED


def test_sessions_of_consumers_end_with_it() -> None:
    broker = Broker()
    late(broker)
    answer = broker.fetch(session_id=9, session_epoch=4)
    assert answer == FetchResponse(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, partitions={})


def test_followers_and_other_requests_are_answered_all_the_same() -> None:
    broker = Broker()
    late(broker)
    assert broker.list_offsets(replica_id=2) is broker.ask(None, 3) is ANSWER
    assert broker.fetch(replica_id=2) is READ
    broker.read = Waits()
    assert broker.fetch(replica_id=2) is broker.read, "it is there for acks=all, and waits for records all the same"


@pytest.mark.parametrize("meanwhile", [late, late_and_renewed])
def test_what_was_appended_as_it_ended_is_not_acknowledged(meanwhile: Callable[[Broker], None]) -> None:
    broker = Broker(meanwhile)
    assert broker.error() is REFUSED
    assert broker.appended == 1


def test_what_waits_for_followers_goes_on_waiting() -> None:
    waits = Waits()
    assert Broker(late, waits).produce(acks=-1) is waits


@pytest.mark.parametrize("asked", ["answer", "expire"])
def test_what_is_appended_later_is_acknowledged_as_long_as_it_lasts(asked: str) -> None:
    waits = Waits()
    broker = Broker(answer=waits)
    pending = broker.produce()
    assert pending.deadline == waits.deadline
    for told in (None, NO_ANSWER, APPENDED):
        waits.told = told
        assert getattr(pending, asked)() is told
    late(broker)
    assert getattr(pending, asked)().partitions[ORDERS].error is REFUSED
    waits.told = None
    assert getattr(pending, asked)() is None


@pytest.mark.parametrize("meanwhile", [late, late_and_renewed])
def test_what_was_read_as_it_ended_is_not_shown_to_consumers(meanwhile: Callable[[Broker], None]) -> None:
    assert Broker(meanwhile).fetch().partitions[ORDERS].error is REFUSED


@pytest.mark.parametrize("asked", ["answer", "expire"])
@pytest.mark.parametrize("meanwhile", [late, late_and_renewed])
def test_consumers_that_wait_for_records_are_refused_once_it_is_over(
    asked: str, meanwhile: Callable[[Broker], None]
) -> None:
    broker = Broker()
    broker.read = Waits()
    alone, in_session = broker.fetch(), broker.fetch(session_id=9, session_epoch=4)
    for broker.read.told in (None, READ):
        assert getattr(alone, asked)() is getattr(in_session, asked)() is broker.read.told
    meanwhile(broker)
    assert getattr(alone, asked)().partitions[ORDERS].error is REFUSED
    assert getattr(in_session, asked)().error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_who_wants_no_answer_is_hung_up_on() -> None:
    broker = Broker(answer=None)
    assert broker.produce(acks=0) is None
    late(broker)
    with pytest.raises(HangUpError):
        broker.produce(acks=0)
