"""The walk through a message ends where the message ends, for all that kio knows; and nowhere else."""

import random
from typing import Any

import pytest
from kio.schema.fetch.v4.response import FetchResponse as FetchResponseV4
from kio.schema.fetch.v17.response import FetchResponse
from kio.schema.metadata.v12.response import MetadataResponse
from kio.schema.response_header.v1.header import ResponseHeader

from replication.protocol.errors import MalformedResponseError
from replication.protocol.wire import offset_for_leader_epoch_v0, offset_for_leader_epoch_v1
from replication.protocol.wire.message_bounds import end_of
from replication.protocol.wire.schema import read, write
from tests.campaign import run_seed
from tests.replication.protocol.instances import instance, request_classes, response_classes

OURS = [
    getattr(module, name)
    for module in (offset_for_leader_epoch_v0, offset_for_leader_epoch_v1)
    for name in ("OffsetForLeaderEpochRequest", "OffsetForLeaderEpochResponse")
]
INT32_MAX = b"\x7f\xff\xff\xff"
VARINT_MAX = b"\xff\xff\xff\xff\x0f"


def _id(kind: Any) -> str:
    return f"{kind.__name__}-v{kind.__version__}"


@pytest.mark.parametrize("kind", [*response_classes(), *request_classes(), *OURS], ids=_id)
def test_every_message_is_walked_to_its_end_and_read_back(kind: Any) -> None:
    rng = random.Random(f"{run_seed()} {_id(kind)}")
    for _ in range(3):
        original = instance(kind, rng)
        message = write(original)
        assert end_of(kind, memoryview(message)) == len(message)
        assert end_of(kind, memoryview(b"ab" + message + b"c"), 2) == len(message) + 2
        assert read(kind, memoryview(message)) == original


@pytest.mark.parametrize("kind", [FetchResponse, FetchResponseV4, MetadataResponse], ids=_id)
def test_a_message_cut_short_anywhere_is_refused(kind: Any) -> None:
    message = write(instance(kind, random.Random(run_seed())))
    for size in range(min(len(message), 2_000)):
        with pytest.raises(MalformedResponseError):
            read(kind, memoryview(message[:size]))


def test_bytes_after_a_message_are_refused() -> None:
    message = write(instance(FetchResponse, random.Random(1)))
    with pytest.raises(MalformedResponseError, match="2 bytes too many"):
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
    with pytest.raises(MalformedResponseError, match="-1 items"):
        read(FetchResponseV4, memoryview(bytes(4) + b"\xff\xff\xff\xff"))


def test_a_tagged_field_has_the_size_that_it_announces() -> None:
    with pytest.raises(MalformedResponseError, match="tagged field 0"):
        read(FetchResponse, memoryview(bytes(10) + b"\x01" + b"\x01\x00\x05\x01\x00\x00\x00\x00"))


def test_a_header_may_carry_tagged_fields_that_are_not_known() -> None:
    header = b"\0\0\0\7" + b"\x01\x63\x02ab"
    assert end_of(ResponseHeader, memoryview(header + b"body")) == len(header)


def test_a_number_of_more_than_five_bytes_is_refused() -> None:
    with pytest.raises(MalformedResponseError, match="more than five bytes"):
        read(FetchResponse, memoryview(bytes(10) + b"\xff" * 20))
