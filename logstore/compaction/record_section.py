"""A batch's records as they are encoded: what of them compaction looks at, and what it copies as it is."""

from collections.abc import Iterator
from typing import NamedTuple

from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import TimestampType
from logstore.batch.decoding.record_decoder import read_all_fields, wrapping
from logstore.errors import CorruptRecordError, DecompressionError


class StoredRecord(NamedTuple):
    """One record, with its key, value and headers still encoded."""

    offset: int
    timestamp: int
    key: bytes | None
    is_tombstone: bool
    fields: bytes
    """Key, value and headers, as they are stored."""


def stored_records(batch: RecordBatch) -> Iterator[StoredRecord]:
    """Yield a batch's records, decompressed. Raises DecompressionError and CorruptRecordError."""
    try:
        yield from _read(batch, bytes(batch.section()))
    except (DecompressionError, CorruptRecordError) as error:
        raise error.with_position(file=batch.file, position=batch.position, offset=batch.base_offset) from error


def _read(batch: RecordBatch, data: bytes) -> Iterator[StoredRecord]:
    append_time = batch.max_timestamp if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    for found in read_all_fields(data, batch.record_count):
        timestamp = wrapping(batch.base_timestamp + found.timestamp_delta) if append_time is None else append_time
        offset = wrapping(batch.base_offset + found.offset_delta)
        yield StoredRecord(offset, timestamp, found.key, found.value is None, data[found.start : found.end])
