"""Each way in which a log refuses an append is one of Kafka's codes."""

import errno

import pytest

from logstore import (
    AppendError,
    DecompressionError,
    LogClosedError,
    LogPoisonedError,
    OffsetsOutOfOrderError,
    UnexpectedAppendOffsetError,
    UnsupportedFormatError,
)
from logstore.errors import InvalidBatchHeaderError
from replication.cluster.broker.requests.writing.append_refusal import append_error, append_refusal
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.requests.writing.leading import LOG_CONFIG, one_batch

OF_FOLLOWERS = {OffsetsOutOfOrderError, UnexpectedAppendOffsetError}
START = 7


def test_every_refusal_of_a_leaders_log_has_a_code() -> None:
    kinds = set(AppendError.__subclasses__()) - OF_FOLLOWERS
    assert len(kinds) > 8
    assert {kind.__name__ for kind in kinds if append_error(kind("")) is ErrorCode.UNKNOWN_SERVER_ERROR} == set()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidBatchHeaderError(""), ErrorCode.CORRUPT_MESSAGE),
        (DecompressionError(""), ErrorCode.UNKNOWN_SERVER_ERROR),
        (UnsupportedFormatError(""), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (LogPoisonedError(""), ErrorCode.KAFKA_STORAGE_ERROR),
        (LogClosedError(""), ErrorCode.KAFKA_STORAGE_ERROR),
        (OSError(errno.ENOSPC, "no space left"), ErrorCode.KAFKA_STORAGE_ERROR),
        (OSError(errno.EIO, "failed"), ErrorCode.KAFKA_STORAGE_ERROR),
    ],
)
def test_what_a_disk_or_a_damaged_batch_raises_has_one_too(error: Exception, code: ErrorCode) -> None:
    assert append_error(error) is code


@pytest.mark.parametrize(
    ("error", "start"), [(LogPoisonedError(""), -1), (InvalidBatchHeaderError(""), -1), (DecompressionError(""), START)]
)
def test_where_the_log_starts_is_told_where_kafka_tells_it(error: Exception, start: int) -> None:
    assert append_refusal(error, one_batch(), LOG_CONFIG, START).log_start_offset == start
