"""A batch's records as they are encoded: what of them compaction looks at, and what it copies as it is."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import TimestampType
from logstore.batch.decoding.record_decoder import read_all_fields, wrapping
from logstore.batch.decoding.whole_records import whole_records
from logstore.errors import CorruptRecordError, DecompressionError, DecompressionLimitError


class StoredRecord(NamedTuple):
    """One record, with its key, value and headers still encoded."""

    offset: int
    timestamp: int
    key: bytes | None
    is_tombstone: bool
    fields: bytes
    """Key, value and headers, as they are stored."""


def stored_records(batch: RecordBatch) -> Iterator[StoredRecord]:
    """Yield a batch's records, decompressed in pieces where they are many bytes.

    Raises DecompressionError and CorruptRecordError.
    """
    try:
        for data, count in _runs(batch):
            yield from _read(batch, data, count)
    except (DecompressionError, CorruptRecordError) as error:
        raise error.with_position(file=batch.file, position=batch.position, offset=batch.base_offset) from error


def _runs(batch: RecordBatch) -> Iterable[tuple[bytes, int]]:
    try:
        return [(bytes(batch.section()), batch.record_count)]
    except DecompressionLimitError:
        return whole_records(batch.pieces(), batch.record_count)


def _read(batch: RecordBatch, data: bytes, count: int) -> Iterator[StoredRecord]:
    append_time = batch.max_timestamp if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    for found in read_all_fields(data, count, with_headers=False):
        timestamp = wrapping(batch.base_timestamp + found.timestamp_delta) if append_time is None else append_time
        offset = wrapping(batch.base_offset + found.offset_delta)
        yield StoredRecord(offset, timestamp, found.key, found.value is None, data[found.start : found.end])
