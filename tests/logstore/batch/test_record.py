"""A record to be written is made of its value; all else has a default."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.append.encoding import encode_batch
from logstore.batch.record import Header, Record
from logstore.segment.read_view import ReadView


def test_a_value_is_enough() -> None:
    before = time.time_ns() // 1_000_000
    made = Record.of(b"value")
    assert (made.key, made.value, made.headers) == (None, b"value", ())
    assert before <= made.timestamp <= time.time_ns() // 1_000_000


def test_what_is_given_is_written() -> None:
    made = Record.of(None, b"key", timestamp=5, headers=[("h", b"1"), Header("h", None)])
    data = memoryview(encode_batch([made, made]))
    written = list(ReadView(0, data).records())
    assert written == [Record(offset, 5, b"key", None, (Header("h", b"1"), Header("h", None))) for offset in (0, 1)]


def test_text_is_taken_as_utf_8() -> None:
    record = Record.of(b"value", "clé", headers={"trace": "é", "raw": b"\xff", "none": None})
    assert record.key == "clé".encode()
    assert record.headers == (Header("trace", "é".encode()), Header("raw", b"\xff"), Header("none", None))


def test_headers_given_as_pairs_may_repeat_their_keys() -> None:
    assert Record.of(b"v", headers=[("k", b"1"), ("k", "2")]).headers == (Header("k", b"1"), Header("k", b"2"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"value": "text"}, r"the value is of type str: pass bytes or None; encode text, by 'text'\.encode\(\)"),
        ({"value": 5}, "the value is of type int: pass bytes or None"),
        ({"value": ["a"]}, "the value is of type list: pass bytes or None"),
        ({"key": 5}, "the key is of type int: pass bytes, text or None"),
        ({"timestamp": "now"}, "the timestamp is of type str: pass milliseconds since 1970 UTC, an int, or a datetime"),
        ({"timestamp": 1.5}, "the timestamp is of type float: pass milliseconds"),
        ({"timestamp": True}, "the timestamp is of type bool: pass milliseconds"),
        ({"headers": {"trace": 5}}, "the header 'trace' is of type int: pass bytes, text or None"),
        ({"headers": [(b"trace", b"5")]}, "the name of a header is of type bytes: pass text, a str"),
        ({"headers": 5}, "headers of type int: pass a mapping of names to values, or pairs of both"),
        ({"headers": ["abc"]}, "headers of type list: pass a mapping of names to values, or pairs of both"),
    ],
    ids=str,
)
def test_what_no_record_can_hold_is_refused_at_once(given: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=f"^{told}"):
        Record.of(**{"value": b"value", **given})


def test_what_stands_for_bytes_and_whole_numbers_is_taken() -> None:
    record = Record.of(memoryview(b"value"), bytearray(b"key"), timestamp=np.int64(5), headers={"h": bytearray(b"1")})
    [written] = ReadView(0, memoryview(encode_batch([record]))).records()
    assert written == Record(0, 5, b"key", b"value", (Header("h", b"1"),))


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001  Hypothesis
def test_a_time_may_be_a_datetime(time: datetime) -> None:
    milliseconds = Record.of(b"value", timestamp=time).timestamp
    assert abs(datetime.fromtimestamp(milliseconds / 1000, UTC) - time) <= timedelta(milliseconds=0.51)


def test_a_datetime_without_a_zone_is_local_time() -> None:
    naive = datetime(2026, 1, 2, 3, 4, 5, 678_000)  # noqa: DTZ001  that is the point
    assert Record.of(b"value", timestamp=naive).timestamp == round(naive.astimezone().timestamp() * 1000)
