"""What is seen of a producer's batch before its partition is even looked up (Kafka: ProduceRequest.validateRecords)."""

from typing import Final, NamedTuple

from logstore.append.append_fast_path import unpack_int32
from logstore.batch.batch_attributes import CODEC_BITS, LAST_CODEC, TRANSACTIONAL_BIT
from logstore.batch.layout import HEADER_SIZE, LENGTH_AT, LOG_OVERHEAD, MAGIC, MAGIC_AT, header_of
from replication.protocol.error_code import ErrorCode

_ZSTD: Final = LAST_CODEC
_SINCE_ZSTD: Final = 7
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
_NOTHING: Final = SentBatch(ErrorCode.UNKNOWN_SERVER_ERROR, spoils_request=True)
_HEADLESS: Final = SentBatch(ErrorCode.CORRUPT_MESSAGE, spoils_request=True)


def sent_batch(records: bytes | memoryview | None, version: int) -> SentBatch:
    """Look at what a Produce of a version sends for a partition: that must be one batch of magic 2."""
    if records is not None and len(records) >= HEADER_SIZE and version >= _SINCE_ZSTD:
        length, magic, attributes = _unpack(records)
        if length == len(records) - LOG_OVERHEAD and magic == MAGIC:
            return _TRANSACTIONAL if attributes & TRANSACTIONAL_BIT else _PLAIN
    return _NOTHING if records is None else _closer(memoryview(records), version)


def _closer(records: memoryview, version: int) -> SentBatch:
    try:
        size = _size(records)
    except ValueError:
        return _HEADLESS
    if size is None or records[MAGIC_AT] != MAGIC:
        return SentBatch(ErrorCode.INVALID_RECORD)
    attributes = int.from_bytes(records[MAGIC_AT + 5 : MAGIC_AT + 7], "big")
    is_transactional = bool(attributes & TRANSACTIONAL_BIT)
    if version < _SINCE_ZSTD and attributes & CODEC_BITS >= _ZSTD:
        is_known = attributes & CODEC_BITS == _ZSTD
        error = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if is_known else ErrorCode.UNKNOWN_SERVER_ERROR
        return SentBatch(error, is_transactional, spoils_request=not is_known)
    try:
        is_one = _size(records[size:]) is None
    except ValueError:
        return SentBatch(ErrorCode.CORRUPT_MESSAGE, is_transactional)
    return SentBatch(ErrorCode.NONE if is_one else ErrorCode.INVALID_RECORD, is_transactional)


def _size(records: memoryview) -> int | None:
    """Return the size of the batch that bytes begin with, or None of one that is not whole; ValueError if none is."""
    if len(records) < LOG_OVERHEAD:
        return None
    length: int = unpack_int32(records, LENGTH_AT)[0]
    if length < _SMALLEST_LENGTH:
        raise ValueError(length)
    if len(records) <= MAGIC_AT:
        return None
    if records[MAGIC_AT] > MAGIC:
        raise ValueError(records[MAGIC_AT])
    return length + LOG_OVERHEAD if length <= len(records) - LOG_OVERHEAD else None
