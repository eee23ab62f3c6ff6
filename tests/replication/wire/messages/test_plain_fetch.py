"""A Fetch of one partition, and its answer: read and written byte for byte as by the codec, and refused as by it."""

from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import EndOffset
from logstore import TopicPartition
from replication.records.codec.gathered import LEAST_VIEW
from replication.wire.error_code import ErrorCode
from replication.wire.errors import InvalidMessageError, MalformedRequestError, MalformedResponseError
from replication.wire.messages import fetch_form, plain_fetch
from replication.wire.messages.fetch import (
    SINCE_TOPIC_IDS,
    VERSIONS,
    AbortedTransaction,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    SnapshotId,
)
from tests.replication.wire.strategies import TOPIC_IDS, fetch_requests, partitions

BY_CODEC: Final = replace(fetch_form.REQUEST, read_plain=lambda _, __: None, write_plain=lambda _, __: None)
ANSWERS_BY_CODEC: Final = replace(fetch_form.RESPONSE, write_plain=lambda _, __: None)
BY_ID: Final = range(SINCE_TOPIC_IDS, VERSIONS.stop)
ORDERS: Final = TopicPartition("orders", 3)
FOLLOWED: Final = FetchPartition(100, 1 << 20, 4, 3, 7)
int64 = st.integers(-1, 2**63 - 1)
answers = st.builds(
    FetchResponse,
    error=st.sampled_from(ErrorCode),
    session_id=st.integers(0, 2**31 - 1),
    throttle_time_ms=st.integers(0, 2**31 - 1),
    partitions=st.dictionaries(
        partitions,
        st.builds(
            FetchedPartition,
            st.sampled_from(ErrorCode),
            int64,
            int64,
            st.binary(max_size=300) | st.sampled_from([LEAST_VIEW - 1, LEAST_VIEW, 70_000]).map(bytes),
            st.none() | st.just(EndOffset(1, 2)),
            st.none() | st.just(LeaderIdAndEpoch(1, 2)),
            st.none() | st.just(SnapshotId(1, 2)),
            int64,
            st.sampled_from([None, (), (AbortedTransaction(1, 2),)]),
            st.integers(-1, 5),
        ),
        min_size=1,
        max_size=2,
    ),
    topic_ids=st.just(TOPIC_IDS),
)


NAMES: Final = {topic_id: name for name, topic_id in TOPIC_IDS.items()}


def found(data: bytes, version: int, form: Any = fetch_form.REQUEST) -> Any:
    try:
        return form.read(memoryview(data), version)
    except MalformedRequestError as error:
        return str(error)


@given(fetch_requests, st.sampled_from(VERSIONS))
def test_a_request_is_read_as_the_codec_reads_it(request: FetchRequest, version: int) -> None:
    data = fetch_form.REQUEST.write(request, version)
    assert found(data, version) == found(data, version, BY_CODEC)


@pytest.mark.parametrize("replica_id", [-1, 2])
@pytest.mark.parametrize("high_watermark", [0, FetchPartition(0, 0).high_watermark])
@pytest.mark.parametrize("version", BY_ID)
def test_so_is_one_that_is_damaged_or_cut_off_anywhere(version: int, replica_id: int, high_watermark: int) -> None:
    asked = {ORDERS: FOLLOWED._replace(high_watermark=high_watermark)}
    whole = fetch_form.REQUEST.write(
        FetchRequest(partitions=asked, topic_ids=TOPIC_IDS, replica_id=replica_id), version
    )
    cut = [whole[:end] for end in range(len(whole))]
    damaged = [
        whole[:place] + bytes((byte,)) + whole[place + 1 :]
        for place in range(len(whole))
        for byte in (0, 1, 2, 3, 7, 8, 13, 0x7F, 0x80, 0xFF)
    ]
    for data in (*cut, *damaged, whole + b"\0", whole + b"\1\0"):
        assert found(data, version) == found(data, version, BY_CODEC)


@given(fetch_requests, st.sampled_from(VERSIONS))
def test_a_request_is_written_as_the_codec_writes_it(request: FetchRequest, version: int) -> None:
    assert fetch_form.REQUEST.write(request, version) == BY_CODEC.write(request, version)


@given(answers, st.sampled_from(BY_ID))
def test_an_answer_is_written_as_the_codec_writes_it(answer: FetchResponse, version: int) -> None:
    expected = ANSWERS_BY_CODEC.write(answer, version)
    assert fetch_form.RESPONSE.write(answer, version) == expected
    assert b"".join(fetch_form.RESPONSE.write_parts(answer, version)) == expected


def told(data: bytes, version: int) -> Any:
    try:
        return fetch_form.read_response(memoryview(data), version, NAMES)
    except MalformedResponseError as error:
        return str(error)


def told_by_codec(data: bytes, version: int) -> Any:
    with patch.object(plain_fetch, "read_response", return_value=None):
        return told(data, version)


@given(answers, st.sampled_from(BY_ID))
def test_an_answer_is_read_as_the_codec_reads_it(answer: FetchResponse, version: int) -> None:
    data = ANSWERS_BY_CODEC.write(answer, version)
    assert told(data, version) == told_by_codec(data, version)


@pytest.mark.parametrize("size", [0, 1, 200])
def test_so_is_an_answer_that_is_damaged_or_cut_off_anywhere(size: int) -> None:
    fetched = FetchedPartition(ErrorCode.NONE, 5, 1, b"r" * size, None, None, None, 4)
    whole = ANSWERS_BY_CODEC.write(FetchResponse(partitions={ORDERS: fetched}, topic_ids=TOPIC_IDS), 18)
    cut = [whole[:end] for end in range(len(whole))]
    damaged = [
        whole[:place] + bytes((byte,)) + whole[place + 1 :]
        for place in range(len(whole))
        for byte in (0, 1, 2, 3, 7, 0x7F, 0x80, 0xFF)
    ]
    for data in (*cut, *damaged, whole + b"\0", whole + b"\1\0"):
        assert told(data, 18) == told_by_codec(data, 18)


@pytest.mark.parametrize("replica_id", [-1, 2])
@pytest.mark.parametrize("version", range(15, VERSIONS.stop))
def test_the_codec_is_not_asked_for_what_is_sent_most_often(version: int, replica_id: int) -> None:
    asked = {ORDERS: FOLLOWED._replace(high_watermark=90)}
    request = FetchRequest(partitions=asked, topic_ids=TOPIC_IDS, replica_id=replica_id, replica_epoch=12)
    answer = FetchResponse(partitions={ORDERS: FetchedPartition(ErrorCode.NONE, 5)}, topic_ids=TOPIC_IDS)
    assert fetch_form.REQUEST.read_plain(fetch_form.REQUEST.write(request, version), version) is not None
    assert fetch_form.RESPONSE.write_plain(answer, version) is not None
    plain = replace(request, partitions={ORDERS: FOLLOWED})
    assert fetch_form.REQUEST.write_plain(plain, version) is not None
    assert plain_fetch.read_response(fetch_form.RESPONSE.write(answer, version), version) is not None


def test_records_are_not_copied() -> None:
    records = memoryview(bytes(LEAST_VIEW))
    answer = FetchResponse(partitions={ORDERS: FetchedPartition(ErrorCode.NONE, 5, 0, records)}, topic_ids=TOPIC_IDS)
    assert any(part is records for part in fetch_form.RESPONSE.write_parts(answer, 18))


def test_what_no_field_holds_is_refused() -> None:
    partition = TopicPartition("orders", 2**31)
    answer = FetchResponse(partitions={partition: FetchedPartition(ErrorCode.NONE, 5)}, topic_ids=TOPIC_IDS)
    with pytest.raises(InvalidMessageError, match="FetchResponse cannot be written"):
        fetch_form.RESPONSE.write(answer, 13)
