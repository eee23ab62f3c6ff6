"""What comes back for each frame, and when the connection ends."""

import logging
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from logstore.log.state.waiters import ThreadWaiter, Waiter
from replication.base.errors import ReplicationError
from replication.records.codec.gathered import Part
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages.api_versions import ApiVersions, ApiVersionsRequest, ApiVersionsResponse
from replication.wire.messages.apis import api_with
from replication.wire.messages.metadata import ClusterMetadata, MetadataRequest
from replication.wire.server.authentication import NoSasl
from replication.wire.server.call import ANONYMOUS, Call, Caller
from replication.wire.server.conversation import Conversation, Waiting
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.offered_versions import Features, OfferedVersions
from replication.wire.server.pending import NO_ANSWER
from replication.wire.server.served_api import ServedApi, ServedApis
from tests.campaign import Campaign
from tests.replication.wire.questions import QUESTIONS
from tests.replication.wire.test_fuzz import CHANGES

CAMPAIGN = Campaign("server: fuzzed requests", full=1_000_000, share=4_000)
MEMORY = 20_000_000
"""Bytes: what is learned on the way, such as codecs, and no more."""
CALLER = Caller("192.0.2.1")
METADATA, FEATURES = (
    3,
    Features({"metadata.version": range(1, 30), "group.version": range(2)}, {"group.version": range(1, 2)}, 77),
)
METADATA_ANSWER = ClusterMetadata(cluster_id="MkU3OEVBNTcwNTJENDM2Qg", controller_id=1, brokers={}, topics={})


def conversation(apis: ServedApis) -> Conversation:
    return Conversation(apis, OfferedVersions(apis, lambda: FEATURES), NoSasl(CALLER))


def metadata(answer: Callable[[Any, Call], Any]) -> ServedApis:
    return {METADATA: ServedApi(range(4, 13), answer)}


def frame_of(exchange: Exchange, request: Any) -> memoryview:
    _, frame = exchange.ask(request)
    return memoryview(frame)[SIZE_BYTES:]


def read(exchange: Exchange, parts: list[Part] | Waiting | None) -> Any:
    assert isinstance(parts, list)
    answer = b"".join(parts)
    assert int.from_bytes(answer[:SIZE_BYTES], "big") == len(answer) - SIZE_BYTES
    return exchange.answer(memoryview(answer)[SIZE_BYTES:])[1]


def in_version(key: int, version: int) -> Exchange:
    exchange = Exchange("tester")
    exchange.versions = ApiVersions({key: range(version, version + 1)})
    return exchange


class Later:
    """An answer that is there once it is given."""

    deadline = 100.0

    def __init__(self) -> None:
        self.given: Any = None
        self.late: Any = None
        self.waiters: list[Waiter] = []

    def attend(self, waiter: Waiter) -> None:
        self.waiters.append(waiter)

    def leave(self, waiter: Waiter) -> None:
        self.waiters.remove(waiter)

    def answer(self) -> Any:
        return self.given

    def expire(self) -> Any:
        return self.late


def test_a_request_is_answered_in_its_version_with_what_is_known_of_its_caller() -> None:
    calls = []

    def answer(request: Any, call: Call) -> Any:
        calls.append((request, call))
        return METADATA_ANSWER

    talk = conversation(metadata(answer))
    exchange = in_version(METADATA, 9)
    assert read(exchange, talk.receive(frame_of(exchange, MetadataRequest(topics=None)))) == METADATA_ANSWER
    assert calls == [(MetadataRequest(topics=None), Call(9, CALLER, "tester"))]
    assert CALLER.principal == ANONYMOUS


@pytest.mark.parametrize("version", range(5))
def test_the_versions_of_all_apis_and_the_features_are_told(version: int) -> None:
    exchange = in_version(18, version)
    request = ApiVersionsRequest(
        client_software_name="tester", client_software_version="1.0", asked_in=range(version, version + 1)
    )
    answer: ApiVersionsResponse = read(
        exchange, conversation(metadata(lambda *_: None)).receive(frame_of(exchange, request))
    )
    assert answer.error is ErrorCode.NONE
    assert answer.versions.theirs == {3: range(4, 13), 17: range(2), 18: range(5), 36: range(3)}
    if version > 2:
        assert answer.finalized_features == {"group.version": range(1, 2)}
        assert answer.finalized_features_epoch == 77
        supported = {name: levels for name, levels in FEATURES.supported.items() if levels.start or version > 3}
        assert answer.supported_features == supported


@pytest.mark.parametrize("name", ["", "-a", "a b", "ä", "a-"])
def test_a_client_without_a_proper_name_is_refused(name: str) -> None:
    exchange = in_version(18, 3)
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    answer = read(exchange, conversation({}).receive(frame_of(exchange, request)))
    assert answer == ApiVersionsResponse(error=ErrorCode.INVALID_REQUEST, versions=ApiVersions({}))


@pytest.mark.parametrize("version", [5, 6, 32_767, -1])
def test_a_question_for_versions_in_one_that_is_not_known_is_answered_in_version_0(version: int) -> None:
    frame = memoryview(b"\0\x12" + version.to_bytes(2, "big", signed=True) + b"\0\0\0\x2a" + b"anything")
    parts = conversation({}).receive(frame)
    assert isinstance(parts, list)
    assert b"".join(parts) == bytes.fromhex("00000010 0000002a 0023 00000001 0012 0000 0004")


@pytest.mark.parametrize(
    ("frame", "topic"),
    [
        ("0003 0003 0000002a ffff", "version"),
        ("0003 000d 0000002a ffff 00", "version"),
        ("7fff 0000 0000002a ffff", "version"),
        ("ffff ffff 0000002a ffff", "version"),
        ("0003 0009 0000002a 7fff 00", "request"),
        ("0003 0009 0000002a ffff 00 ffffffff0f", "request"),
        ("0003 00", "request"),
        ("", "request"),
    ],
)
def test_what_is_not_served_or_is_no_request_ends_the_connection(frame: str, topic: str) -> None:
    with pytest.raises(HangUpError) as error:
        conversation(metadata(lambda *_: METADATA_ANSWER)).receive(memoryview(bytes.fromhex(frame)))
    assert (error.value.topic, error.value.parts) == (topic, [])


def test_a_request_that_wants_no_answer_gets_none() -> None:
    exchange = in_version(METADATA, 9)
    assert conversation(metadata(lambda *_: None)).receive(frame_of(exchange, MetadataRequest(topics=None))) == []


def test_more_than_the_request_may_follow_it() -> None:
    """As librdkafka sends it where it asks for all topics; Kafka reads what it knows."""
    seen = []
    talk = conversation({METADATA: ServedApi(range(4, 14), lambda request, _: seen.append(request))})
    talk.receive(memoryview(bytes.fromhex("0003000d 00000005 0007 72646b61666b61 00 00 00 00 00 01 00 00")))
    assert seen == [MetadataRequest(topics=None)]


def _fail(*_: Any) -> Any:
    raise ZeroDivisionError


@pytest.mark.parametrize("answer", [_fail, lambda *_: "no answer to Metadata"])
def test_a_handler_that_fails_ends_its_connection_and_is_logged(
    answer: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    exchange = in_version(METADATA, 9)
    with (
        pytest.raises(HangUpError, match="Metadata in version 9 could not be answered"),
        caplog.at_level(logging.ERROR),
    ):
        conversation(metadata(answer)).receive(frame_of(exchange, MetadataRequest(topics=None)))
    assert "Metadata in version 9 of client 'tester'" in caplog.text
    assert "Traceback" in caplog.text


def test_a_handler_that_fails_as_was_foreseen_ends_its_connection_with_the_reason_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any) -> Any:
        raise ReplicationError("the controller cannot be asked")

    exchange = in_version(METADATA, 9)
    with pytest.raises(HangUpError, match="Metadata could not be answered: the controller cannot be asked"):
        conversation(metadata(fail)).receive(frame_of(exchange, MetadataRequest(topics=None)))
    assert not caplog.text


def test_an_answer_may_have_to_wait() -> None:
    later, waiter = Later(), ThreadWaiter()
    exchange = in_version(METADATA, 9)
    waiting = conversation(metadata(lambda *_: later)).receive(frame_of(exchange, MetadataRequest(topics=None)))
    assert isinstance(waiting, Waiting)
    waiting.attend(waiter)
    assert later.waiters == [waiter]
    assert waiting.parts(99.9) is None
    assert waiting.parts(100.0) is None
    later.late = METADATA_ANSWER
    assert waiting.parts(99.9) is None
    assert read(exchange, waiting.parts(100.0)) == METADATA_ANSWER
    waiting.leave(waiter)
    assert later.waiters == []


def test_an_answer_that_is_there_does_not_wait_for_its_deadline() -> None:
    later = Later()
    exchange = in_version(METADATA, 9)
    waiting = conversation(metadata(lambda *_: later)).receive(frame_of(exchange, MetadataRequest(topics=None)))
    later.given = METADATA_ANSWER
    assert isinstance(waiting, Waiting)
    assert read(exchange, waiting.parts(0.0)) == METADATA_ANSWER


def test_a_request_that_wants_no_answer_may_have_to_wait_too() -> None:
    later = Later()
    exchange = in_version(METADATA, 9)
    waiting = conversation(metadata(lambda *_: later)).receive(frame_of(exchange, MetadataRequest(topics=None)))
    assert isinstance(waiting, Waiting)
    assert waiting.parts(0.0) is None
    later.given = NO_ANSWER
    assert waiting.parts(0.0) == []


def test_sasl_on_a_listener_without_it_is_refused() -> None:
    exchange, talk = Exchange("tester"), conversation({})
    request = request_classes(17, 1).SaslHandshakeRequest(mechanism="PLAIN")
    assert read(exchange, talk.receive(frame_of(exchange, request))).error_code == ErrorCode.ILLEGAL_SASL_STATE
    request = request_classes(36, 2).SaslAuthenticateRequest(auth_bytes=b"")
    assert read(exchange, talk.receive(frame_of(exchange, request))).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_random_changes_of_requests_end_in_answers_or_the_end_of_the_connection() -> None:
    """No handler sees what is no request, and nothing is kept."""
    rng = random.Random(CAMPAIGN.seed)
    seen = [0]

    def take(request: Any, _: Call) -> None:
        seen[0] += request is not None

    apis = {key: ServedApi(api_with(key).served, take) for key in QUESTIONS if key != 18}  # type: ignore[union-attr]
    talk = conversation(apis)
    refused = failed = 0
    tracemalloc.start()
    try:
        for _ in range(CAMPAIGN.count):
            frame = _changed(rng)
            try:
                talk.receive(memoryview(frame))
            except HangUpError as error:
                refused += error.topic in {"request", "version"}
                failed += error.topic == "failure"
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    CAMPAIGN.report(CAMPAIGN.count, f"{refused:,} refused")
    assert failed == 0
    assert 0 < refused < CAMPAIGN.count
    assert seen[0] > 0
    assert kept < MEMORY


def _changed(rng: random.Random) -> bytes:
    if rng.random() < 0.02:
        return rng.randbytes(rng.randrange(200))
    key = rng.choice(sorted(QUESTIONS))
    request, versions = QUESTIONS[key]
    frame = bytearray(frame_of(in_version(key, rng.choice(versions)), request))
    for _ in range(rng.randint(1, 2)):
        rng.choice(CHANGES)(frame, rng)
    return bytes(frame)
