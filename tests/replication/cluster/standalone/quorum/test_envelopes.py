"""What brokers pass on of what they were asked."""

from typing import Any

import pytest

from replication.cluster.standalone.quorum import envelopes
from replication.cluster.standalone.quorum.envelopes import Envelopes
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.encoding.kio_messages import request_class
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from replication.wire.messages.describe_quorum import DescribedQuorum, DescribeQuorumRequest
from replication.wire.server.call import Call, Caller
from replication.wire.server.served_api import ServedApi

ALICE = b"\0\0\x05User\x06alice\0\0"
"""As Kafka's broker writes it: a version, type and name, whether it was by a token, no tags."""
BROKER = Call(0, Caller("192.0.2.9", "User:broker", "CONTROLLER"))


class Quorum:
    """Answers DescribeQuorum, and keeps whose question it was."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, _: DescribeQuorumRequest, call: Call) -> DescribedQuorum:
        self.calls.append(call)
        return DescribedQuorum(leader_id=100, leader_epoch=5)


@pytest.fixture
def quorum() -> Quorum:
    return Quorum()


@pytest.fixture
def exchange() -> Exchange:
    return Exchange("first")


def enclosed(exchange: Exchange, request: Any) -> bytes:
    """A request as it stands in an envelope."""
    return bytes(memoryview(exchange.ask(request)[1])[SIZE_BYTES:])


def opened(quorum: Quorum, data: bytes, principal: bytes | None = ALICE, address: bytes = bytes([192, 0, 2, 1])) -> Any:
    """What is answered to an envelope."""
    kind: Any = request_class(envelopes.API_KEY, 0)
    request = kind(request_data=data, request_principal=principal, client_host_address=address)
    return Envelopes({55: ServedApi(range(3), quorum)}).answer(request, BROKER)


def test_what_is_in_it_is_answered_as_if_the_first_who_asked_had_come(quorum: Quorum, exchange: Exchange) -> None:
    answer = opened(quorum, enclosed(exchange, DescribeQuorumRequest()))
    assert answer.error_code == ErrorCode.NONE
    told = exchange.answer(memoryview(answer.response_data))[1]
    assert (told.leader_id, told.leader_epoch) == (100, 5)
    (call,) = quorum.calls
    assert call == Call(call.version, Caller("192.0.2.1", "User:alice", "CONTROLLER"), "first")


def test_nobody_is_named_where_nobody_has_logged_in(quorum: Quorum, exchange: Exchange) -> None:
    data = enclosed(exchange, DescribeQuorumRequest())
    assert opened(quorum, data, None, bytes(16)).error_code == ErrorCode.NONE
    assert quorum.calls[0].caller == Caller("::", "User:ANONYMOUS", "CONTROLLER")


def test_what_is_not_passed_on_is_told_so(quorum: Quorum, exchange: Exchange) -> None:
    data = enclosed(exchange, DescribeClusterRequest())
    assert opened(quorum, data).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_what_is_no_request_is_told_so(quorum: Quorum, exchange: Exchange) -> None:
    data = enclosed(exchange, DescribeQuorumRequest())
    for answer in (
        opened(quorum, data[:-1]),
        opened(quorum, b""),
        opened(quorum, data, ALICE[:-3]),
        opened(quorum, data, address=bytes(5)),
    ):
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert answer.response_data is None
    assert quorum.calls == []
