"""The lines of records: one line each, whatever is in it, and nothing is lost."""

import base64
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.record import Header, Record
from logstore.batch.record_lines import escape, json_line, text_line

INT64 = st.integers(-(2**63), 2**63 - 1)
CONTENT = st.none() | st.binary() | st.text().map(str.encode)
RECORDS = st.builds(
    Record,
    offset=INT64,
    timestamp=INT64,
    key=CONTENT,
    value=CONTENT,
    headers=st.lists(st.builds(Header, key=st.text(st.characters(codec="utf-8")), value=CONTENT)).map(tuple),
)


def unescape(text: bytes) -> bytes:
    return re.sub(rb"\\(\\|x(..))", lambda match: bytes([int(match[2], 16)]) if match[2] else b"\\", text)


def content(document: dict[str, Any], name: str) -> bytes | None:
    if f"{name}_base64" in document:
        return base64.b64decode(document[f"{name}_base64"], validate=True)
    return None if document[name] is None else str(document[name]).encode()


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"plain text, 100%", b"plain text, 100%"),
        (b"", b""),
        (b"a\\b", rb"a\\b"),
        (b"two\nlines\r\t", rb"two\x0alines\x0d\x09"),
        ("café".encode(), rb"caf\xc3\xa9"),
        (b"\x00\x1b[31m\x7f\xff", rb"\x00\x1b[31m\x7f\xff"),
        (rb"\x00", rb"\\x00"),
    ],
)
def test_text_shows_printable_characters_and_escapes_the_rest(data: bytes, shown: bytes) -> None:
    assert escape(data) == shown


def test_a_line_of_text_names_each_field() -> None:
    record = Record(7, 1000, b"k", None, (Header("trace", b"\x01"), Header("empty", None)))
    assert text_line(b"| offset: ", record, 5) == (
        rb"| offset: 7 timestamp: 1000 sequence: 5 key_size: 1 value_size: -1 "
        rb"headers: [trace: \x01, empty: null] key: k value: null" + b"\n"
    )


def test_an_absent_key_is_not_the_key_null() -> None:
    absent, text = (text_line(b"", Record(0, 0, key, b""), -1) for key in (None, b"null"))
    assert b"key_size: -1" in absent
    assert b"key_size: 4" in text


@given(st.binary())
def test_escaped_bytes_are_printable_and_can_be_told(data: bytes) -> None:
    shown = escape(data)
    assert all(0x20 <= byte < 0x7F for byte in shown)
    assert unescape(shown) == data


@given(RECORDS, st.integers(-1, 2**31 - 1))
def test_a_line_of_json_holds_the_whole_record(record: Record, sequence: int) -> None:
    line = json_line(b'{"offset": ', record, sequence)
    assert line.count(b"\n") == 1
    document = json.loads(line)
    assert (document["offset"], document["timestamp"], document["sequence"]) == (
        record.offset,
        record.timestamp,
        sequence,
    )
    assert content(document, "key") == record.key
    assert content(document, "value") == record.value
    headers = [(content(header, "key"), content(header, "value")) for header in document["headers"]]
    assert headers == [(header.key.encode(), header.value) for header in record.headers]


@given(RECORDS)
def test_a_line_of_text_is_one_line_of_ascii(record: Record) -> None:
    line = text_line(b"| offset: ", record, -1)
    assert line.count(b"\n") == 1
    assert line.isascii()
