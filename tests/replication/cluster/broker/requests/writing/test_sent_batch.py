"""One whole batch of magic 2 by itself is left to the log; all else is refused before its partition is looked at."""

import pytest

from replication.cluster.broker.requests.writing.sent_batch import SentBatch, sent_batch
from replication.wire.error_code import ErrorCode
from tests.logstore.batches import TRANSACTIONAL
from tests.replication.cluster.broker.requests.writing.leading import one_batch

PLAIN = SentBatch(ErrorCode.NONE)
CORRUPT, WRONG = SentBatch(ErrorCode.CORRUPT_MESSAGE), SentBatch(ErrorCode.INVALID_RECORD)
HEADLESS = SentBatch(ErrorCode.CORRUPT_MESSAGE, spoils_request=True)
UNREADABLE = SentBatch(ErrorCode.UNKNOWN_SERVER_ERROR, spoils_request=True)
WHOLE = one_batch()
ZSTD = 4
_LONGEST = 2**31 - 1
OVERHEAD = 12


def short(size: int) -> bytes:
    return one_batch(length=size - OVERHEAD)[:size]


def of_length(length: int) -> bytes:
    return one_batch(length=length)


@pytest.mark.parametrize("version", range(3, 14))
def test_a_batch_by_itself_is_left_to_the_log(version: int) -> None:
    assert sent_batch(WHOLE, version) == PLAIN
    assert sent_batch(memoryview(WHOLE), version) == PLAIN
    assert sent_batch(one_batch(attributes=TRANSACTIONAL), version) == SentBatch(ErrorCode.NONE, is_transactional=True)


@pytest.mark.parametrize("version", [3, 13])
@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (None, UNREADABLE),
        (b"", WRONG),
        (WHOLE[:11], WRONG),
        (WHOLE[:12], WRONG),
        (WHOLE[:16], WRONG),
        (WHOLE[:17], WRONG),
        (WHOLE[:-1], WRONG),
        (of_length(13), HEADLESS),
        (of_length(13)[:12], HEADLESS),
        (of_length(14)[:16], WRONG),
        (of_length(-1), HEADLESS),
        (one_batch(magic=3), HEADLESS),
        (one_batch(magic=-1), HEADLESS),
        (one_batch(magic=1), WRONG),
        (one_batch(magic=0), WRONG),
        (of_length(_LONGEST - OVERHEAD), WRONG),
        (of_length(_LONGEST - OVERHEAD + 1), UNREADABLE),
        (of_length(_LONGEST), UNREADABLE),
        (short(26), UNREADABLE),
        (short(50), UNREADABLE),
        (short(51), PLAIN),
        (WHOLE + WHOLE, WRONG),
        (WHOLE + b"rest", PLAIN),
        (WHOLE + WHOLE[:20], PLAIN),
        (WHOLE + of_length(13), CORRUPT),
        (WHOLE + of_length(13)[:12], CORRUPT),
        (WHOLE + one_batch(magic=7), CORRUPT),
        (WHOLE + of_length(_LONGEST), UNREADABLE),
    ],
)
def test_all_else_is_refused(data: bytes | None, seen: SentBatch, version: int) -> None:
    assert sent_batch(data, version) == seen


@pytest.mark.parametrize(("codec", "error"), [(ZSTD, "UNSUPPORTED_COMPRESSION_TYPE"), (5, "UNKNOWN_SERVER_ERROR")])
def test_codecs_are_looked_at_in_the_versions_before_zstd(codec: int, error: str) -> None:
    data = one_batch(attributes=codec)
    assert sent_batch(data, 7) == PLAIN
    assert sent_batch(data + b"rest", 7) == PLAIN
    assert sent_batch(data, 6) == SentBatch(ErrorCode[error], spoils_request=codec > ZSTD)
    assert sent_batch(one_batch(attributes=3), 6) == PLAIN
