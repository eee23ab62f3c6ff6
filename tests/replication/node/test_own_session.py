"""A leader that may have been replaced, by its own clock, acknowledges nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from logstore import TopicPartition
from replication.node.own_session import OwnSession
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse
from replication.server.call import Call, Caller
from replication.server.hang_up import HangUpError
from replication.server.served_api import ServedApi

ORDERS = TopicPartition("orders", 0)
CALL = Call(11, Caller("127.0.0.1"))
WAITS = object()


class Broker:
    """Heard of its controller at 0; a session lasts 100."""

    def __init__(self, meanwhile: Callable[["Broker"], None] = lambda _: None, answer: Any = None) -> None:
        self.now, self.heard_at, self.appended = 0, 0, 0
        self._meanwhile, self._answer = meanwhile, answer
        session = OwnSession(lambda: self.heard_at, 100, lambda: self.now)
        self.api = session.guarded(ServedApi(range(12), self._append))

    def _append(self, request: ProduceRequest, _: Call) -> Any:
        self.appended += 1
        self._meanwhile(self)
        told = dict.fromkeys(request.partitions, ProducedPartition(ErrorCode.NONE))
        return self._answer or ProduceResponse(partitions=told, topic_ids={})

    def produce(self, acks: int = 1) -> Any:
        request = ProduceRequest(partitions={ORDERS: b""}, acks=acks, timeout_ms=1_000, topic_ids={})
        return self.api.answer(request, CALL)

    def error(self) -> ErrorCode:
        error: ErrorCode = self.produce().partitions[ORDERS].error
        return error


def late(broker: Broker) -> None:
    broker.now = 100


def test_producers_are_served_while_the_session_lasts() -> None:
    broker = Broker()
    broker.now = 99
    assert broker.error() is ErrorCode.NONE


def test_nothing_is_appended_once_it_is_over() -> None:
    broker = Broker()
    late(broker)
    assert broker.error() is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.appended == 0
    broker.heard_at = 100
    assert broker.error() is ErrorCode.NONE


def test_what_was_appended_as_it_ended_is_not_acknowledged() -> None:
    broker = Broker(meanwhile=late)
    assert broker.error() is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.appended == 1


def test_what_waits_for_followers_goes_on_waiting() -> None:
    broker = Broker(meanwhile=late, answer=WAITS)
    assert broker.produce(acks=-1) is WAITS


def test_who_wants_no_answer_is_hung_up_on() -> None:
    broker = Broker()
    late(broker)
    with pytest.raises(HangUpError):
        broker.produce(acks=0)
