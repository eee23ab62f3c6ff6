"""A record to be written is made of its value; all else has a default."""

import time

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
