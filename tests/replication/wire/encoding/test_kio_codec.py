"""Messages of all of kio's classes become the bytes that kio makes of them, and are read with each length checked.

What is newer than kio is read too: tagged fields and error codes.
"""

import io
import random
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.fetch.v4.response import FetchResponse as FetchResponseV4
from kio.schema.fetch.v17 import response as fetch
from kio.schema.fetch.v17.response import FetchResponse
from kio.schema.metadata.v4.response import MetadataResponse as MetadataResponseV4
from kio.schema.metadata.v12.response import MetadataResponse
from kio.serial import entity_reader, entity_writer

from replication.wire.encoding.kio_messages import read, write
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedResponseError
from tests.campaign import run_seed
from tests.replication.wire.instances import instance, request_classes, response_classes

NEW_TAG = b"\x01\x63\x02ab"
"""One tagged field, of tag 99, with two bytes."""
INT32_MAX = b"\x7f\xff\xff\xff"
VARINT_MAX = b"\xff\xff\xff\xff\x0f"


def _id(kind: Any) -> str:
    return f"{kind.__name__}-v{kind.__version__}"


@pytest.mark.parametrize("kind", [*response_classes(), *request_classes()], ids=_id)
def test_every_message_is_written_and_read_as_kio_does(kind: Any) -> None:
    rng = random.Random(f"{run_seed()} {_id(kind)}")
    for _ in range(3):
        original = instance(kind, rng)
        message = io.BytesIO()
        entity_writer(kind)(message, original)
        assert write(original) == message.getvalue()
        assert read(kind, message.getbuffer()) == original == entity_reader(kind)(message.getvalue(), 0)[0]


@pytest.mark.parametrize("kind", [FetchResponse, FetchResponseV4, MetadataResponse], ids=_id)
def test_a_message_cut_short_anywhere_is_refused(kind: Any) -> None:
    message = write(instance(kind, random.Random(run_seed())))
    for size in range(min(len(message), 2_000)):
        with pytest.raises(MalformedResponseError):
            read(kind, memoryview(message[:size]))


def test_bytes_after_a_message_are_refused() -> None:
    message = write(instance(FetchResponse, random.Random(1)))
    with pytest.raises(MalformedResponseError, match="2 extra bytes"):
        read(FetchResponse, memoryview(message + b"\0\0"))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (FetchResponse, bytes(10) + VARINT_MAX + bytes(64)),
        (FetchResponseV4, bytes(4) + INT32_MAX + bytes(64)),
        (MetadataResponse, bytes(4) + VARINT_MAX + bytes(64)),
    ],
    ids=["compact", "legacy", "brokers"],
)
def test_an_array_of_more_items_than_there_are_bytes_is_refused(kind: Any, message: bytes) -> None:
    """For this count kio would reserve more memory than a machine has, and end the process."""
    with pytest.raises(MalformedResponseError, match="items"):
        read(kind, memoryview(message))


def test_null_is_refused_where_an_array_must_be() -> None:
    with pytest.raises(MalformedResponseError, match="null"):
        read(FetchResponseV4, memoryview(bytes(4) + b"\xff\xff\xff\xff"))


def test_a_tagged_field_has_the_size_that_it_announces() -> None:
    with pytest.raises(MalformedResponseError, match="node_endpoints does not fill the 5 bytes of its tag"):
        read(FetchResponse, memoryview(bytes(10) + b"\x01" + b"\x01\x00\x05\x01\x00\x00\x00\x00"))


def test_a_number_of_more_than_five_bytes_is_refused() -> None:
    with pytest.raises(MalformedResponseError, match="more than five bytes"):
        read(FetchResponse, memoryview(bytes(10) + b"\xff" * 20))


def test_a_new_tagged_field_is_passed_over() -> None:
    response = fetch.FetchResponse(throttle_time=timedelta(), error_code=ErrorCode.NONE, responses=())
    message = write(response)
    assert message.endswith(b"\0")
    assert read(fetch.FetchResponse, memoryview(message[:-1] + NEW_TAG)) == response


def test_a_new_tagged_field_deep_inside_is_passed_over_and_known_ones_are_not() -> None:
    partition = fetch.PartitionData(
        partition_index=1,
        error_code=ErrorCode.NONE,
        high_watermark=2,
        diverging_epoch=fetch.EpochEndOffset(epoch=4, end_offset=5),
        aborted_transactions=None,
        records=b"ab",
    )
    message = write(partition)
    known_tag = b"\x01\x00\x0d"
    assert known_tag in message
    newer = message.replace(known_tag, b"\x02\x00\x0d") + NEW_TAG[1:]
    assert read(fetch.PartitionData, memoryview(newer)) == partition


def test_a_new_error_code_is_an_unknown_server_error() -> None:
    response = fetch.FetchResponse(throttle_time=timedelta(), error_code=ErrorCode.NONE, session_id=3, responses=())
    message = bytearray(write(response))
    message[4:6] = (999).to_bytes(2, "big")
    told = read(fetch.FetchResponse, memoryview(bytes(message)))
    assert told.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert told.session_id == 3


def test_what_is_wrong_by_any_reading_is_malformed() -> None:
    message = write(instance(MetadataResponseV4, random.Random(3)))
    broken = message.replace("Zürich".encode(), b"Z\xff\xffrich").replace(b"topic", b"top\xffc")
    assert broken != message
    with pytest.raises(MalformedResponseError, match=r"MetadataResponse of \d+ bytes cannot be read"):
        read(MetadataResponseV4, memoryview(broken))
