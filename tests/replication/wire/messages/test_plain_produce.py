"""A Produce to one partition, and its answer: read and written byte for byte as by the codec, and refused as by it."""

from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.wire.error_code import ErrorCode
from replication.wire.errors import InvalidMessageError, MalformedRequestError
from replication.wire.messages import produce
from replication.wire.messages.fetch import LeaderIdAndEpoch
from replication.wire.messages.produce import ProducedPartition, ProduceRequest, ProduceResponse, RecordError
from tests.replication.wire.strategies import TOPIC_IDS, partitions

BY_CODEC: Final = replace(produce.REQUEST, read_plain=lambda _, __: None)
ANSWERS_BY_CODEC: Final = replace(produce.RESPONSE, write_plain=lambda _, __: None)
FLEXIBLE: Final = range(9, produce.VERSIONS.stop)
ORDERS: Final = TopicPartition("orders", 3)
requests = st.builds(
    ProduceRequest,
    partitions=st.dictionaries(partitions, st.none() | st.binary(max_size=300), min_size=1, max_size=2),
    acks=st.integers(-1, 1),
    timeout_ms=st.integers(0, 2**31 - 1),
    transactional_id=st.none() | st.none() | st.just("t"),
    topic_ids=st.just(TOPIC_IDS),
)
int64 = st.integers(-1, 2**63 - 1)
answers = st.builds(
    ProduceResponse,
    partitions=st.dictionaries(
        partitions,
        st.builds(
            ProducedPartition,
            st.sampled_from(ErrorCode),
            int64,
            int64,
            int64,
            st.just(()) | st.just((RecordError(1, "why"),)),
            st.none() | st.just("why"),
            st.none() | st.just(LeaderIdAndEpoch(1, 2)),
        ),
        min_size=1,
        max_size=2,
    ),
    throttle_time_ms=st.integers(0, 2**31 - 1),
    topic_ids=st.just(TOPIC_IDS),
)


def found(form: Any, data: bytes, version: int) -> Any:
    try:
        return form.read(memoryview(data), version)
    except MalformedRequestError as error:
        return str(error)


@given(requests, st.sampled_from(produce.VERSIONS))
def test_a_request_is_read_as_the_codec_reads_it(request: ProduceRequest, version: int) -> None:
    data = produce.REQUEST.write(request, version)
    assert found(produce.REQUEST, data, version) == found(BY_CODEC, data, version)


@pytest.mark.parametrize("size", [0, 1, 200])
@pytest.mark.parametrize("version", FLEXIBLE)
def test_so_is_one_that_is_damaged_or_cut_off_anywhere(version: int, size: int) -> None:
    request = ProduceRequest(partitions={ORDERS: b"r" * size}, topic_ids=TOPIC_IDS)
    whole = produce.REQUEST.write(request, version)
    cut = [whole[:end] for end in range(len(whole))]
    damaged = [
        whole[:place] + bytes((byte,)) + whole[place + 1 :]
        for place in range(len(whole))
        for byte in (0, 1, 2, 3, 7, 8, 0x7F, 0x80, 0xFF)
    ]
    for data in (*cut, *damaged, whole + b"\0", whole + b"\1\0"):
        assert found(produce.REQUEST, data, version) == found(BY_CODEC, data, version)


@given(answers, st.sampled_from(produce.VERSIONS))
def test_an_answer_is_written_as_the_codec_writes_it(answer: ProduceResponse, version: int) -> None:
    expected = ANSWERS_BY_CODEC.write(answer, version)
    assert produce.RESPONSE.write(answer, version) == expected
    assert b"".join(produce.RESPONSE.write_parts(answer, version)) == expected


@pytest.mark.parametrize("version", FLEXIBLE)
def test_the_codec_is_not_asked_for_what_is_sent_most_often(version: int) -> None:
    request = ProduceRequest(partitions={ORDERS: bytes(200)}, topic_ids=TOPIC_IDS)
    answer = ProduceResponse(partitions={ORDERS: ProducedPartition(ErrorCode.NONE, 5)}, topic_ids=TOPIC_IDS)
    assert produce.REQUEST.read_plain(produce.REQUEST.write(request, version), version) is not None
    assert produce.RESPONSE.write_plain(answer, version) is not None


@pytest.mark.parametrize("partition", [TopicPartition("orders", 2**31), TopicPartition("\ud800", 0)])
def test_what_no_field_holds_is_refused(partition: TopicPartition) -> None:
    answer = ProduceResponse(partitions={partition: ProducedPartition(ErrorCode.NONE)})
    with pytest.raises(InvalidMessageError, match="ProduceResponse cannot be written"):
        produce.RESPONSE.write(answer, 9)
