"""What is seen of a producer's batch before its partition is even looked up (Kafka: ProduceRequest.validateRecords)."""

from typing import Final, NamedTuple

from logstore.append.append_fast_path import unpack_int32
from logstore.batch.batch_attributes import CODEC_BITS, LAST_CODEC, TRANSACTIONAL_BIT
from logstore.batch.layout import (
    ATTRIBUTES_AT,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    PRODUCER_EPOCH_AT,
    header_of,
)
from logstore.log_config import MAX_INT32
from replication.wire.error_code import ErrorCode

_ZSTD: Final = LAST_CODEC
_SINCE_ZSTD: Final = 7
_UP_TO_PRODUCER_ID: Final = PRODUCER_EPOCH_AT
"""What Kafka reads of a batch that ends sooner is not there, for which the whole request fails."""
_SMALLEST_LENGTH: Final = 14
"""Of a message of any magic (Kafka: LegacyRecord.RECORD_OVERHEAD_V0)."""
_unpack: Final = header_of("length", "magic", "attributes").unpack_from


class SentBatch(NamedTuple):
    """What was sent for one partition."""

    error: ErrorCode
    """Why it is refused; NONE where that is left to the log."""
    is_transactional: bool = False
    spoils_request: bool = False
    """Whether Kafka refuses for it what was sent for the other partitions too."""


_PLAIN: Final = SentBatch(ErrorCode.NONE)
_TRANSACTIONAL: Final = SentBatch(ErrorCode.NONE, is_transactional=True)
_UNREADABLE: Final = SentBatch(ErrorCode.UNKNOWN_SERVER_ERROR, spoils_request=True)
_HEADLESS: Final = SentBatch(ErrorCode.CORRUPT_MESSAGE, spoils_request=True)


def sent_batch(records: bytes | memoryview | None, version: int) -> SentBatch:
    """Look at what a Produce of a version sends for a partition: that must be one batch of magic 2."""
    if records is not None and len(records) >= HEADER_SIZE and version >= _SINCE_ZSTD:
        length, magic, attributes = _unpack(records)
        if length == len(records) - LOG_OVERHEAD and magic == MAGIC:
            return _TRANSACTIONAL if attributes & TRANSACTIONAL_BIT else _PLAIN
    return _UNREADABLE if records is None else _closer(memoryview(records), version)


def _closer(records: memoryview, version: int) -> SentBatch:
    try:
        size = _size(records)
    except OverflowError:
        return _UNREADABLE
    except ValueError:
        return _HEADLESS
    if size is None or records[MAGIC_AT] != MAGIC:
        return SentBatch(ErrorCode.INVALID_RECORD)
    attributes = int.from_bytes(records[ATTRIBUTES_AT:LAST_OFFSET_DELTA_AT], "big")
    error = _error(records, size, attributes & CODEC_BITS, version)
    spoils = error is ErrorCode.UNKNOWN_SERVER_ERROR
    return SentBatch(error, is_transactional=bool(attributes & TRANSACTIONAL_BIT), spoils_request=spoils)


def _error(records: memoryview, size: int, codec: int, version: int) -> ErrorCode:
    if version < _SINCE_ZSTD and codec >= _ZSTD:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if codec == _ZSTD else ErrorCode.UNKNOWN_SERVER_ERROR
    try:
        if _size(records[size:]) is not None:
            return ErrorCode.INVALID_RECORD
    except OverflowError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    except ValueError:
        return ErrorCode.CORRUPT_MESSAGE
    return ErrorCode.UNKNOWN_SERVER_ERROR if size < _UP_TO_PRODUCER_ID else ErrorCode.NONE


def _size(records: memoryview) -> int | None:
    """Return the size of the batch that bytes begin with, or None of one that is not whole.

    Raises ValueError where no batch begins, and OverflowError where Kafka's sum of its length and what stands before it
    overflows.
    """
    if len(records) < LOG_OVERHEAD:
        return None
    length: int = unpack_int32(records, LENGTH_AT)[0]
    if length < _SMALLEST_LENGTH:
        raise ValueError(length)
    if len(records) <= MAGIC_AT:
        return None
    if records[MAGIC_AT] > MAGIC:
        raise ValueError(records[MAGIC_AT])
    if length > MAX_INT32 - LOG_OVERHEAD:
        raise OverflowError(length)
    return length + LOG_OVERHEAD if length <= len(records) - LOG_OVERHEAD else None
