"""Requests and answers as frames: numbered, answered in order, in versions that the broker speaks."""

from datetime import timedelta
from typing import Any

import pytest

from logstore import TopicPartition
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.kio_messages import read, request_classes, response_classes, write
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedResponseError, UnsupportedVersionError
from replication.wire.messages.api_versions import ApiVersions, ApiVersionsRequest, ApiVersionsResponse
from replication.wire.messages.apis import api_of
from replication.wire.messages.fetch import FetchPartition, FetchRequest
from replication.wire.messages.list_offsets import EARLIEST_LOCAL, ListOffsetsRequest, OffsetQuestion
from replication.wire.messages.metadata import ClusterMetadata, MetadataRequest
from tests.replication.wire.strategies import TOPIC_IDS

CURRENT = ApiVersions({1: range(4, 19), 2: range(1, 12), 3: range(14), 18: range(5), 23: range(2, 5)})
ORDERS = {TopicPartition("orders", 0): FetchPartition(0, 100)}


def _exchange(versions: ApiVersions | None = CURRENT) -> Exchange:
    exchange = Exchange("tester")
    exchange.versions = versions
    return exchange


def _header(frame: bytes, version: int) -> Any:
    """A frame's header; the body's first byte is not part of it."""
    from kio.index import load_entity_schema
    from kio.serial import entity_reader
    from kio.static.constants import EntityType

    header, _ = entity_reader(load_entity_schema("request_header", version, EntityType.header))(frame, 4)
    return header


def _metadata_answer(correlation_id: int, version: int = 13) -> memoryview:
    classes = response_classes(3, version)
    body = classes.MetadataResponse(
        throttle_time=timedelta(),
        brokers=(),
        cluster_id=f"cluster {correlation_id}",
        controller_id=1,
        topics=(),
        error_code=ErrorCode.NONE,
    )
    return memoryview(correlation_id.to_bytes(4, "big") + b"\0" + write(body))


def test_a_frame_says_its_size_its_number_and_who_asks() -> None:
    exchange = _exchange()
    for number in range(3):
        correlation_id, frame = exchange.ask(MetadataRequest(topics=None))
        assert correlation_id == number
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        header = _header(frame, 2)
        assert (header.request_api_key, header.request_api_version) == (3, 13)
        assert (header.correlation_id, header.client_id) == (number, "tester")


def test_the_body_follows_the_header() -> None:
    _, frame = _exchange().ask(MetadataRequest(topics=("orders",)))
    sent = read(request_classes(3, 13).MetadataRequest, memoryview(frame)[4 + 10 + len("tester") + 1 :])
    assert [topic.name for topic in sent.topics] == ["orders"]


def test_several_are_under_way_and_answered_in_order() -> None:
    exchange = _exchange()
    for _ in range(3):
        exchange.ask(MetadataRequest(topics=None))
    assert exchange.in_flight == ("Metadata v13",) * 3
    for number in range(3):
        correlation_id, answer = exchange.answer(_metadata_answer(number))
        assert isinstance(answer, ClusterMetadata)
        assert (correlation_id, answer.cluster_id) == (number, f"cluster {number}")
    assert exchange.in_flight == ()


def test_an_answer_out_of_order_is_refused() -> None:
    exchange = _exchange()
    exchange.ask(MetadataRequest(topics=None))
    exchange.ask(MetadataRequest(topics=None))
    with pytest.raises(MalformedResponseError, match=r"Metadata v13 .* correlation id 1, but 0 was expected"):
        exchange.answer(_metadata_answer(1))


def test_an_answer_to_nothing_is_refused() -> None:
    with pytest.raises(MalformedResponseError, match="no request was sent"):
        _exchange().answer(_metadata_answer(0))


def test_numbers_start_again_after_the_largest() -> None:
    exchange = _exchange()
    exchange._next_id = 2**31 - 1
    assert exchange.ask(MetadataRequest(topics=None))[0] == 2**31 - 1
    assert exchange.ask(MetadataRequest(topics=None))[0] == 0


@pytest.mark.parametrize(
    ("request_", "spoken", "version"),
    [
        (FetchRequest(partitions=ORDERS, topic_ids=TOPIC_IDS), range(4, 30), 18),
        (FetchRequest(partitions=ORDERS, topic_ids=TOPIC_IDS), range(4, 12), 11),
        (FetchRequest(partitions=ORDERS), range(4, 30), 12),
        (ListOffsetsRequest(partitions={}), range(1, 7), 6),
        (MetadataRequest(topics=None), range(14), 13),
    ],
)
def test_the_highest_version_is_taken_that_can_carry_the_request(request_: Any, spoken: range, version: int) -> None:
    exchange = _exchange(ApiVersions({api_of(request_).key: spoken}))
    exchange.ask(request_)
    assert exchange.in_flight[0].endswith(f" v{version}")


def test_what_no_common_version_can_carry_is_refused_and_leaves_no_trace() -> None:
    exchange = _exchange(ApiVersions({2: range(1, 8)}))
    asked = ListOffsetsRequest(partitions={TopicPartition("t", 0): OffsetQuestion(EARLIEST_LOCAL)})
    with pytest.raises(UnsupportedVersionError, match="ListOffsets is supported in versions 1 to 7"):
        exchange.ask(asked)
    assert exchange.in_flight == ()


def test_a_request_of_kios_is_answered_in_kios_terms() -> None:
    exchange = _exchange()
    exchange.ask(request_classes(3, 12).MetadataRequest(topics=None, include_topic_authorized_operations=False))
    classes = response_classes(3, 12)
    body = classes.MetadataResponse(throttle_time=timedelta(), brokers=(), controller_id=7, topics=())
    _, answer = exchange.answer(memoryview(bytes(5) + write(body)))
    assert answer == body


def test_a_request_of_kios_in_a_version_that_the_broker_does_not_speak_is_refused() -> None:
    exchange = _exchange(ApiVersions({3: range(5)}))
    with pytest.raises(UnsupportedVersionError, match="Metadata is supported in versions 0 to 4"):
        exchange.ask(request_classes(3, 12).MetadataRequest(topics=None, include_topic_authorized_operations=False))


def test_a_broker_that_does_not_know_the_version_of_api_versions_answers_in_version_0() -> None:
    exchange = _exchange(None)
    exchange.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"))
    _, answer = exchange.answer(memoryview(bytes(4) + bytes.fromhex("0023 00000001 0012 0000 0003")))
    assert answer == ApiVersionsResponse(error=ErrorCode.UNSUPPORTED_VERSION, versions=ApiVersions({18: range(4)}))
