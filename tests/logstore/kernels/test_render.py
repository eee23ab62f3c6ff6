"""Rendered lines are those of plain Python, byte for byte, whatever the records hold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.columns import RecordColumns
from logstore.batch.record import Header, Record
from logstore.batch.record_lines import json_line, text_line
from logstore.errors import CorruptRecordError
from logstore.kernels.column_scan import scan
from logstore.kernels.decode import decode
from logstore.kernels.render import LineRenderer, sequences
from tests.logstore.batches import batch, nullable, record
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES

INT64 = st.integers(-(2**63), 2**63 - 1)
ODD_TEXT = st.sampled_from(
    [
        b"\xc0\x80",  # overlong
        b"\xe0\x9f\xbf",
        b"\xf0\x8f\xbf\xbf",
        b"\xed\xa0\x80",  # a surrogate
        b"\xf4\x90\x80\x80",  # beyond the last code point
        b"\xf5\x80\x80\x80",
        b"\xf4\x8f\xbf\xbf",  # the last one
        b"\xed\x9f\xbf\xee\x80\x80",  # around the surrogates
        b"\xe2\x82",  # cut off
        b"\xe2\x82\xc0",  # not continued
        b"\xf0\x9f\x98\xff",
        b"\x80",
        b"text\xff",
        b'"\\/\b\f\n\r\t\x00\x1f\x7f',
    ]
)
BYTES = st.binary(max_size=20) | st.text(max_size=10).map(str.encode) | ODD_TEXT
CONTENT = st.none() | BYTES
RECORDS = st.builds(
    Record,
    offset=INT64,
    timestamp=INT64,
    key=CONTENT,
    value=CONTENT,
    headers=st.lists(st.builds(Header, key=st.text(max_size=10), value=CONTENT), max_size=3).map(tuple),
)
SEQUENCES = st.integers(-1, 2**31 - 1)
PREFIXES = st.sampled_from([b"", b"| offset: ", '{"file": "é", "offset": '.encode()])


def columns(records: list[Record]) -> RecordColumns:
    """Lay records out as the decoder finds them: nothing but what the columns point to."""
    data = b""
    rows = []
    for each in records:
        headers = b"".join(nullable(header.key.encode()) + nullable(header.value) for header in each.headers)
        rows.append(
            (
                len(data),
                -1 if each.key is None else len(each.key),
                len(data) + len(each.key or b""),
                -1 if each.value is None else len(each.value),
                len(data) + len((each.key or b"") + (each.value or b"")),
                len(each.headers),
            )
        )
        data += (each.key or b"") + (each.value or b"") + headers
    starts = np.array(rows, np.int64).reshape(-1, 6).T
    return RecordColumns(
        data=guarded(data),
        batch=np.zeros(len(records), np.int64),
        offset=np.array([each.offset for each in records], np.int64),
        timestamp=np.array([each.timestamp for each in records], np.int64),
        key_start=starts[0].copy(),
        key_length=starts[1].astype(np.int32),
        value_start=starts[2].copy(),
        value_length=starts[3].astype(np.int32),
        headers_start=starts[4].copy(),
        header_count=starts[5].astype(np.int32),
    )


@pytest.mark.parametrize("json", [False, True])
@settings(max_examples=EXAMPLES)
@given(records=st.lists(RECORDS, max_size=4), sequence=SEQUENCES, prefix=PREFIXES)
def test_each_line_is_that_of_plain_python(json: bool, records: list[Record], sequence: int, prefix: bytes) -> None:
    lines = LineRenderer(prefix, json=json).render(columns(records), np.full(len(records), sequence))
    line = json_line if json else text_line
    starts = [0, *lines.ends[:-1].tolist()]
    rendered = [bytes(lines.data[start:end]) for start, end in zip(starts, lines.ends.tolist(), strict=False)]
    assert rendered == [line(prefix, each, sequence) for each in records]
    assert sum(map(len, rendered)) == len(lines.data)


@pytest.mark.parametrize("json", [False, True])
def test_every_byte_is_rendered_as_plain_python_does(json: bool) -> None:
    line = json_line if json else text_line
    records = [Record(0, 0, bytes([first]), bytes([first, second])) for first in range(256) for second in (0x20, 0x80)]
    lines = LineRenderer(b"", json=json).render(columns(records), np.zeros(len(records), np.int64))
    assert bytes(lines.data) == b"".join(line(b"", each, 0) for each in records)


@pytest.mark.parametrize("json", [False, True])
def test_the_buffer_is_large_enough_for_the_longest_lines(json: bool) -> None:
    longest = b"\x00" * 1000
    record_ = Record(-(2**63), -(2**63), longest, longest, (Header("\x00" * 100, longest),) * 3)
    sequence = np.full(3, -(2**63))
    lines = LineRenderer(b"p" * 50, json=json).render(columns([record_] * 3), sequence)
    line = json_line if json else text_line
    assert bytes(lines.data) == line(b"p" * 50, record_, -(2**63)) * 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"key_length": 2**31 - 1},
        {"value_length": 3},
        {"value_start": 2**62},
        {"key_start": -1},
        {"headers_start": -1, "header_count": 1},
        {"headers_start": 2**62, "header_count": 1},
        {"header_count": 2**31 - 1},
        {"header_count": -1},
    ],
)
def test_records_that_reach_beyond_their_data_are_refused(wrong: dict[str, int]) -> None:
    made = columns([Record(0, 0, b"k", b"vv")])
    columns_ = {name: np.full(1, value, getattr(made, name).dtype) for name, value in wrong.items()}
    with pytest.raises(CorruptRecordError, match="does not lie within the data"):
        LineRenderer(b"").render(replace(made, **columns_), np.zeros(1, np.int64))


@settings(max_examples=EXAMPLES)
@given(
    data=st.binary(max_size=30),
    start=st.integers(-2, 35) | INT64,
    count=st.integers(-1, 4) | st.integers(-(2**31), 2**31 - 1),
    json=st.booleans(),
)
def test_headers_anywhere_in_any_bytes_are_rendered_or_refused(data: bytes, start: int, count: int, json: bool) -> None:
    made = replace(
        columns([Record(0, 0, None, None)]),
        data=guarded(data),
        headers_start=np.array([start]),
        header_count=np.array([count], np.int32),
    )
    try:
        lines = LineRenderer(b"", json=json).render(made, np.zeros(1, np.int64))
    except CorruptRecordError:
        return
    assert bytes(lines.data).endswith(b"\n")


@pytest.mark.parametrize("key", [b"\xff", b"\xc0\x80", b"ok\xed\xa0\x80"])
def test_header_keys_that_are_no_text_are_left_to_plain_python(key: bytes) -> None:
    made = replace(
        columns([Record(0, 0, None, None)]),
        data=guarded(nullable(key) + nullable(None)),
        header_count=np.array([1], np.int32),
    )
    with pytest.raises(CorruptRecordError, match="key of a header is not UTF-8"):
        LineRenderer(b"").render(made, np.zeros(1, np.int64))


def test_sequence_numbers_start_over_and_are_absent_without_a_producer() -> None:
    def sequence_of(base_sequence: int) -> list[int]:
        records = [record(offset_delta=delta) for delta in (0, 1, 5)]
        data = np.frombuffer(batch(records=records, base_offset=40, base_sequence=base_sequence), np.uint8)
        batches = scan(data, check_crc=True)
        return sequences(decode(data, batches), batches).tolist()

    assert sequence_of(7) == [7, 8, 12]
    assert sequence_of(2**31 - 1) == [2**31 - 1, 0, 4]
    assert sequence_of(-1) == [-1, -1, -1]


def test_no_records_are_no_lines() -> None:
    lines = LineRenderer(b"x").render(columns([]), np.empty(0, np.int64))
    assert (bytes(lines.data), len(lines.ends)) == (b"", 0)


def test_a_renderer_is_used_again() -> None:
    renderer = LineRenderer(b"")
    for size in (10, 1000, 10):
        records = [Record(1, 2, bytes(size), None)]
        assert bytes(renderer.render(columns(records), np.zeros(1, np.int64)).data) == text_line(b"", records[0], 0)
