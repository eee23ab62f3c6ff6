"""The fields of a batch as a dump shows them, in order."""

from functools import cache
from typing import Final, NamedTuple

from logstore.batch_attributes import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    TimestampType,
)
from logstore.batches import Batch
from logstore.codec import CODEC_BITS, Codec
from logstore.errors import LogStoreError

BATCH_FIELDS: Final = (
    "base_offset",
    "last_offset",
    "record_count",
    "base_sequence",
    "last_sequence",
    "producer_id",
    "producer_epoch",
    "partition_leader_epoch",
    "is_transactional",
    "is_control",
    "delete_horizon_ms",
    "position",
    "timestamp_type",
    "base_timestamp",
    "max_timestamp",
    "size",
    "magic",
    "codec",
    "crc",
    "is_valid",
)
TEXT_FIELDS: Final = frozenset({"timestamp_type", "codec"})
"""Those that JSON puts in quotes; the others are numbers, true, false or null."""

TIMESTAMP_TYPES: Final = {
    TimestampType.NONE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}
"""Kafka's names."""


def batch_values(batch: Batch, *, is_valid: bool) -> tuple[object, ...]:
    """Give the values of BATCH_FIELDS, spelled as JSON does."""
    flags = _flags(batch.attributes, batch.magic)
    base_offset, record_count = (batch.base_offset, batch.record_count) if batch.magic == 2 else _wrapped(batch)
    return (
        base_offset,
        batch.last_offset,
        record_count,
        batch.base_sequence,
        batch.last_sequence,
        batch.producer_id,
        batch.producer_epoch,
        batch.leader_epoch,
        flags.is_transactional,
        flags.is_control,
        batch.base_timestamp if flags.has_delete_horizon else "null",
        batch.position,
        flags.timestamp_type,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.size,
        batch.magic,
        flags.codec,
        batch.crc,
        "true" if is_valid else "false",
    )


class _Flags(NamedTuple):
    is_transactional: str
    is_control: str
    has_delete_horizon: bool
    timestamp_type: str
    codec: str


@cache
def _flags(attributes: int, magic: int) -> _Flags:
    """Read the attributes, of which there are few different ones in a log."""
    codec = attributes & CODEC_BITS
    timestamp_type = TimestampType((attributes & TIMESTAMP_TYPE_BIT) >> 3) if magic else TimestampType.NONE
    return _Flags(
        "true" if attributes & TRANSACTIONAL_BIT and magic == 2 else "false",
        "true" if attributes & CONTROL_BIT and magic == 2 else "false",
        bool(attributes & DELETE_HORIZON_BIT) and magic == 2,
        TIMESTAMP_TYPES[timestamp_type],
        Codec(codec).name.lower() if codec in _CODECS else str(codec),
    )


_CODECS: Final = frozenset(Codec)


def _wrapped(batch: Batch) -> tuple[int | str, int | str]:
    """Look into a message of magic 0 or 1, which may wrap others that cannot be read."""
    try:
        return batch.base_offset, batch.record_count
    except LogStoreError:
        return "null", "null"
