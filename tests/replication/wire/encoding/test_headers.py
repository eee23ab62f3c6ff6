"""Headers of requests and answers are those of kio, and whatever else is read gives our errors alone."""

import io
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_entity_schema
from kio.serial import entity_writer
from kio.static.constants import EntityType

from replication.records.codec.codec import codec_of
from replication.wire.encoding.headers import (
    RequestHeader,
    read_request_header,
    read_request_start,
    read_response_header,
    write_request_header,
    write_response_header,
)
from replication.wire.encoding.message_bytes import read_part
from replication.wire.errors import InvalidMessageError, MalformedRequestError, MalformedResponseError
from tests.replication.wire.strategies import int32

int16 = st.integers(-(2**15), 2**15 - 1)
headers = st.builds(RequestHeader, int16, int16, int32, st.none() | st.text(max_size=300))


def _by_kio(name: Any, version: int, **values: Any) -> bytes:
    kind: Any = load_entity_schema(name, version, EntityType.header)
    message = io.BytesIO()
    entity_writer(kind)(message, kind(**values))
    return message.getvalue()


@pytest.mark.parametrize("flexible", [False, True])
@given(header=headers)
def test_the_header_of_a_request_is_kios(*, flexible: bool, header: RequestHeader) -> None:
    message = write_request_header(header, flexible=flexible)
    assert message == _by_kio(
        "request_header",
        2 if flexible else 1,
        request_api_key=header.api_key,
        request_api_version=header.api_version,
        correlation_id=header.correlation_id,
        client_id=header.client_id,
    )
    assert read_request_start(message) == header[:3]
    assert read_request_header(message + b"body", flexible=flexible) == (header, len(message))


@pytest.mark.parametrize("flexible", [False, True])
@given(correlation_id=int32)
def test_the_header_of_an_answer_is_kios(*, flexible: bool, correlation_id: int) -> None:
    message = write_response_header(correlation_id, flexible=flexible)
    assert message == _by_kio("response_header", 1 if flexible else 0, correlation_id=correlation_id)
    assert read_response_header(memoryview(message + b"body"), flexible=flexible) == (correlation_id, len(message))


def test_a_header_may_carry_tagged_fields_that_are_not_known() -> None:
    header = b"\0\0\0\7" + b"\x01\x63\x02ab"
    assert read_response_header(memoryview(header + b"body"), flexible=True) == (7, len(header))


@pytest.mark.parametrize("flexible", [False, True])
def test_a_header_is_read_as_by_its_codec_whatever_byte_is_damaged(*, flexible: bool) -> None:
    message = write_request_header(RequestHeader(1, 2, 3, "té"), flexible=flexible)
    codec = codec_of(RequestHeader, 0, flexible=flexible)
    for place, byte in product(range(len(message)), (0, 1, 2, 3, 4, 5, 0x7F, 0x80, 0xFF)):
        damaged = message[:place] + bytes((byte,)) + message[place + 1 :] + b"ab"[: byte % 3]
        by_codec = _found(partial(read_part, codec, damaged, "RequestHeader"))
        assert _found(partial(read_request_header, damaged, flexible=flexible)) == by_codec


def _found(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except MalformedRequestError as error:
        return str(error)


def test_a_header_cut_short_anywhere_is_refused() -> None:
    message = write_request_header(RequestHeader(1, 2, 3, "tester"), flexible=True)
    for size in range(len(message)):
        with pytest.raises(MalformedRequestError, match="RequestHeader"):
            read_request_header(message[:size], flexible=True)
    for size in range(8):
        with pytest.raises(MalformedRequestError):
            read_request_start(message[:size])
    for size in range(4):
        with pytest.raises(MalformedResponseError, match="ResponseHeader"):
            read_response_header(bytes(size), flexible=False)


def test_what_no_header_can_say_is_refused() -> None:
    with pytest.raises(InvalidMessageError, match="RequestHeader cannot be written"):
        write_request_header(RequestHeader(1, 2**15, 3, None), flexible=False)
