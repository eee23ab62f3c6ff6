"""What one side asks the other reads, and the answer finds its way back."""

import pytest

from epoch import EndOffset
from logstore import TopicPartition
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.encoding.headers import read_request_start
from replication.wire.encoding.kio_messages import request_classes, response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.errors import InvalidMessageError, MalformedRequestError, UnsupportedRequestError
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.fetch import FetchedPartition, FetchPartition, FetchRequest, FetchResponse, named
from replication.wire.messages.metadata import MetadataRequest
from replication.wire.server.received_request import ReceivedRequest
from tests.replication.wire.questions import QUESTIONS
from tests.replication.wire.strategies import TOPIC_IDS

SINCE_DIVERGING = 12
"""The first version of Fetch that tells of divergence."""
ORDERS = TopicPartition("orders", 0)


@pytest.mark.parametrize("key", QUESTIONS)
def test_every_request_is_received_in_every_version(key: int) -> None:
    request, versions = QUESTIONS[key]
    for version in versions:
        exchange = Exchange("tester")
        exchange.versions = ApiVersions({key: range(version, version + 1)})
        _, frame = exchange.ask(request)
        received = ReceivedRequest.of(frame[SIZE_BYTES:])
        assert received.header == (key, version, 0, "tester")
        assert type(received.request) is type(request)


@pytest.mark.parametrize("version", range(4, 19))
def test_the_answer_to_a_fetch_finds_its_way_back(version: int) -> None:
    exchange = Exchange("tester")
    exchange.versions = ApiVersions({1: range(version, version + 1)})
    asked = FetchRequest(partitions={ORDERS: FetchPartition(5, 100)}, topic_ids=TOPIC_IDS)
    correlation_id, frame = exchange.ask(asked)
    received = ReceivedRequest.of(frame[SIZE_BYTES:])
    request = named(received.request, {topic_id: name for name, topic_id in TOPIC_IDS.items()})
    assert request.partitions == asked.partitions
    told = FetchedPartition(
        ErrorCode.NONE, 9, records=b"abc", diverging_epoch=EndOffset(1, 4) if version > 11 else None
    )
    answer = received.answered(FetchResponse(partitions={ORDERS: told}, topic_ids=request.topic_ids))
    assert int.from_bytes(answer[:SIZE_BYTES], "big") == len(answer) - SIZE_BYTES
    assert exchange.answer(memoryview(answer)[SIZE_BYTES:]) == (
        correlation_id,
        FetchResponse(partitions={ORDERS: told}),
    )


def test_a_topic_whose_id_is_not_known_is_answered_by_its_id() -> None:
    exchange = Exchange("tester")
    asked = FetchRequest(partitions={ORDERS: FetchPartition(5, 100)}, topic_ids=TOPIC_IDS)
    _, frame = exchange.ask(asked)
    received = ReceivedRequest.of(frame[SIZE_BYTES:])
    request = named(received.request, {})
    (partition,) = request.partitions
    assert partition != ORDERS
    told = FetchedPartition(ErrorCode.UNKNOWN_TOPIC_ID, -1)
    answer = received.answered(FetchResponse(partitions={partition: told}, topic_ids=request.topic_ids))
    _, response = exchange.answer(memoryview(answer)[SIZE_BYTES:])
    assert response.partitions == {ORDERS: told}


def test_apis_that_are_not_ours_are_received_and_answered_in_kios_terms() -> None:
    exchange = Exchange("tester")
    _, frame = exchange.ask(request_classes(17, 1).SaslHandshakeRequest(mechanism="PLAIN"))
    received = ReceivedRequest.of(frame[SIZE_BYTES:])
    assert received.request.mechanism == "PLAIN"
    response = response_classes(17, 1).SaslHandshakeResponse(error_code=ErrorCode.NONE, mechanisms=("PLAIN",))
    assert exchange.answer(memoryview(received.answered(response))[SIZE_BYTES:]) == (0, response)


@pytest.mark.parametrize(
    ("start", "reason"),
    [("7fff0003", "API 32767 in version 3: no such API is known"), ("00010013", "Fetch is known in 4 to 18")],
)
def test_what_nobody_serves_is_refused_and_still_has_a_correlation_id(start: str, reason: str) -> None:
    frame = bytes.fromhex(start + "0000002a ffff 00")
    with pytest.raises(UnsupportedRequestError, match=reason):
        ReceivedRequest.of(frame)
    assert read_request_start(frame).correlation_id == 42


def test_what_is_no_request_is_malformed() -> None:
    _, frame = Exchange("tester").ask(MetadataRequest(topics=("orders",)))
    for size in range(len(frame) - SIZE_BYTES):
        with pytest.raises(MalformedRequestError):
            ReceivedRequest.of(frame[SIZE_BYTES:][:size])


def test_an_answer_that_the_version_cannot_say_is_not_written() -> None:
    _, frame = Exchange("tester").ask(FetchRequest(partitions={}, topic_ids=TOPIC_IDS))
    with pytest.raises(InvalidMessageError, match="FetchResponse cannot be written"):
        ReceivedRequest.of(frame[SIZE_BYTES:]).answered(FetchResponse(partitions={}, session_id=2**31))
