"""A record to be written is made of its value; all else has a default."""

import time
from datetime import UTC, datetime, timedelta

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


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001  Hypothesis
def test_a_time_may_be_a_datetime(time: datetime) -> None:
    milliseconds = Record.of(b"value", timestamp=time).timestamp
    assert abs(datetime.fromtimestamp(milliseconds / 1000, UTC) - time) <= timedelta(milliseconds=0.51)


def test_a_datetime_without_a_zone_is_local_time() -> None:
    naive = datetime(2026, 1, 2, 3, 4, 5, 678_000)  # noqa: DTZ001  that is the point
    assert Record.of(b"value", timestamp=naive).timestamp == round(naive.astimezone().timestamp() * 1000)
