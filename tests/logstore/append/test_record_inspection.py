"""Inspecting a producer's records: plain Python and the kernel tell the same, of sound and of damaged bytes."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.append import time_limit
from logstore.append.record_inspection import (
    FEW_RECORDS,
    NO_RECORD,
    RecordInspection,
    inspect_plainly,
    inspect_records,
    renumber_records,
)
from logstore.batch.compression.decompression_limit import MOST_HEADERS
from logstore.batch.decoding.record_decoder import decode_records
from logstore.errors import RecordTooLargeError
from logstore.kernels.inspect import first_corrupt
from logstore.kernels.inspect import inspect_records as inspect_by_kernel
from tests.logstore import batches

LIMITS = {"earliest": 0, "latest": 2_000}
RECORDS = st.lists(
    st.builds(
        batches.record,
        offset_delta=st.integers(0, 3),
        timestamp_delta=st.integers(-1_500, 1_500) | st.just(2**63 - 1),
        key=st.none() | st.binary(max_size=3),
        headers=st.lists(st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3)), max_size=2),
        header_count=st.none() | st.integers(-1, 3),
    ),
    max_size=5,
)


def inspect_both(section: bytes, count: int, base_timestamp: int = 1_000) -> RecordInspection:
    plain = inspect_plainly(memoryview(section), count, base_timestamp, 0, 2_000)
    data = np.frombuffer(section, np.uint8)
    assert plain == inspect_by_kernel(data, 0, len(data), count, base_timestamp, 0, 2_000)
    return plain


@given(RECORDS, st.integers(-1, 1), st.data())
def test_python_and_kernel_agree(records: list[bytes], more: int, data: st.DataObject) -> None:
    section = bytearray(b"".join(records))
    if section and data.draw(st.booleans()):
        section[data.draw(st.integers(0, len(section) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    inspect_both(bytes(section), max(len(records) + more, 0))


def test_the_first_fault_of_each_kind_is_told() -> None:
    records = [
        batches.record(key=b"k"),
        batches.record(offset_delta=1, timestamp_delta=5_000),
        batches.record(offset_delta=2),
        batches.record(offset_delta=3, key=b"k", timestamp_delta=-1_001),
    ]
    assert inspect_both(b"".join(records), 4) == RecordInspection(-1, 1, 1, 6_000, 0, 1)
    assert inspect_both(b"".join(records)[:-1], 4).broken == 3
    assert inspect_both(b"".join(records) + b"x", 4).broken == 4


def test_no_timestamp_is_never_out_of_bounds() -> None:
    assert inspect_both(batches.record(timestamp_delta=-1_001), 1, 1_000).untimely == -1
    assert inspect_both(batches.record(timestamp_delta=-1_002), 1, 1_000).untimely == 0


def with_headers(count: int) -> bytes:
    """A record of so many headers, all without name and value."""
    body = bytes(3) + batches.nullable(None) + batches.nullable(b"") + batches.varint(count) + b"\0\1" * count
    return batches.varint(len(body)) + body


def test_a_record_of_too_many_headers_is_broken() -> None:
    assert inspect_both(with_headers(MOST_HEADERS), 1).broken == NO_RECORD
    assert inspect_both(with_headers(0) + with_headers(MOST_HEADERS + 1), 2).broken == 1


def test_a_record_of_many_headers_takes_little_memory() -> None:
    section = with_headers(1 << 18)
    tracemalloc.start()
    assert inspect_plainly(memoryview(section), 1, 1_000, 0, 2_000).broken == 0
    renumber_records(memoryview(section), 1, same_time=True)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_plain_python_gives_up_on_a_batch_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    section = memoryview(b"".join(batches.record(offset_delta=i) for i in range(1_000)))
    calls = [lambda: inspect_plainly(section, 1_000, 0, 0, 9), lambda: renumber_records(section, 1_000, same_time=True)]
    for call in calls:
        clock = iter(range(100))
        monkeypatch.setattr(time_limit, "monotonic", lambda clock=clock: next(clock))
        with pytest.raises(RecordTooLargeError, match="more than 5 s"):
            call()


def test_many_records_are_inspected_as_few_are() -> None:
    for count in (FEW_RECORDS, FEW_RECORDS + 1):
        section = b"".join(batches.record(offset_delta=i, timestamp_delta=i) for i in range(count))
        found = inspect_records(memoryview(section), count, 1_000, earliest=-(2**70), latest=2**70)
        assert found == RecordInspection(-1, 0, -1, 1_000 + count - 1, 0, 1)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-5, 5), st.binary(max_size=5)), min_size=1, max_size=5))
def test_renumbered_records_keep_all_but_their_numbers(rows: list[tuple[int, int, bytes]]) -> None:
    made = [batches.record(offset_delta=o, timestamp_delta=t, value=v, headers=[(b"\xff", v)]) for o, t, v in rows]
    for same_time in (False, True):
        section = renumber_records(memoryview(b"".join(made)), len(rows), same_time=same_time)
        expected = [
            batches.record(
                offset_delta=i, timestamp_delta=0 if same_time else t - rows[0][1], value=v, headers=[(b"\xff", v)]
            )
            for i, (_, t, v) in enumerate(rows)
        ]
        assert section == b"".join(expected)
        assert len(
            list(decode_records(section, count=len(rows), base_offset=0, base_timestamp=0, append_timestamp=None))
        ) == len(rows)


@given(st.integers(1, 6), st.data())
def test_the_first_corrupt_batch_is_found(count: int, data: st.DataObject) -> None:
    log = bytearray(batches.log(count))
    size = len(log) // count
    wrong = data.draw(st.none() | st.integers(0, count - 1))
    if wrong is not None:
        log[wrong * size + data.draw(st.integers(17, size - 1))] ^= 1
    assert first_corrupt(np.frombuffer(bytes(log), np.uint8), 0, len(log)) == (-1 if wrong is None else wrong * size)
