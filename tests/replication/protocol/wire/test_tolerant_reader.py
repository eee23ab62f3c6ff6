"""The tolerant reader reads what kio reads, and what kio does not know yet."""

import random
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.fetch.v17 import response as fetch
from kio.schema.metadata.v4.response import MetadataResponse

from replication.protocol.error_code import ErrorCode
from replication.protocol.errors import MalformedResponseError
from replication.protocol.wire.schema import read, write
from replication.protocol.wire.tolerant_reader import read_tolerantly
from tests.campaign import run_seed
from tests.replication.protocol.instances import instance, response_classes

NEW_TAG = b"\x01\x63\x02ab"
"""One tagged field, of tag 99, with two bytes."""


DEFAULTS_KNOWN = [
    kind for kind in response_classes() if kind.__name__ not in {"FetchSnapshotResponse", "UpdateRaftVoterResponse"}
]
"""The others have tagged fields whose default kio keeps to itself."""


@pytest.mark.parametrize("kind", DEFAULTS_KNOWN, ids=lambda kind: f"{kind.__name__}-v{kind.__version__}")
def test_it_reads_what_kio_reads(kind: Any) -> None:
    original = instance(kind, random.Random(f"{run_seed()} {kind.__module__}"))
    assert read_tolerantly(kind, memoryview(write(original))) == original


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
    message = write(instance(MetadataResponse, random.Random(3)))
    broken = message.replace("Zürich".encode(), b"Z\xff\xffrich").replace(b"topic", b"top\xffc")
    assert broken != message
    with pytest.raises(MalformedResponseError, match="MetadataResponse cannot be read"):
        read(MetadataResponse, memoryview(broken))
