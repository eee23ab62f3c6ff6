"""A batch with some of its records taken out, as Kafka's cleaner writes it.

Offsets, sequence numbers and the batch's last offset stay: what the header says of a producer holds after compaction.
"""

from collections.abc import Sequence

from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import (
    CODEC_BITS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    TimestampType,
)
from logstore.batch.compression.codec import compress
from logstore.batch.layout import HEADER, HEADER_SIZE, LOG_OVERHEAD, MAGIC, seal
from logstore.batch.record_encoder import frame_record
from logstore.compaction.record_section import StoredRecord

_KEPT_BITS = TIMESTAMP_TYPE_BIT | TRANSACTIONAL_BIT | CONTROL_BIT


def batch_of(batch: RecordBatch, records: Sequence[StoredRecord], delete_horizon_ms: int | None) -> bytearray:
    """Encode `records`, at least one, as all that is left of `batch`, compressed by its own codec.

    `delete_horizon_ms` is from when on its tombstones or its marker may be dropped: times count from there, then.
    """
    base_timestamp = records[0].timestamp if delete_horizon_ms is None else delete_horizon_ms
    section = b"".join(
        [
            frame_record(record.offset - batch.base_offset, record.timestamp - base_timestamp, record.fields)
            for record in records
        ]
    )
    codec = batch.attributes & CODEC_BITS
    bits = codec | (0 if delete_horizon_ms is None else DELETE_HORIZON_BIT)
    latest = batch.max_timestamp
    if batch.timestamp_type is TimestampType.CREATE_TIME:
        latest = max(NO_TIMESTAMP, *(record.timestamp for record in records))
    return _encode(batch, bits, base_timestamp, latest, len(records), bytes(compress(codec, section)))


def emptied(batch: RecordBatch) -> bytearray:
    """Encode what is kept of `batch` where none of its records is: its header, for offsets and producer."""
    return _encode(batch, 0, NO_TIMESTAMP, batch.max_timestamp, 0, b"")


def _encode(
    batch: RecordBatch, bits: int, base_timestamp: int, max_timestamp: int, count: int, section: bytes
) -> bytearray:
    data = bytearray(HEADER_SIZE + len(section))
    data[HEADER_SIZE:] = section
    HEADER.pack_into(
        data,
        0,
        batch.base_offset,
        len(data) - LOG_OVERHEAD,
        batch.leader_epoch,
        MAGIC,
        0,
        bits | batch.attributes & _KEPT_BITS,
        batch.last_offset - batch.base_offset,
        base_timestamp,
        max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        count,
    )
    seal(data)
    return data
