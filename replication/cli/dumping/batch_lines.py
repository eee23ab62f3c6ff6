"""The lines of batches: 65,536 of them in a segment of 1 GiB, so what seldom changes is formatted once."""

from collections.abc import Callable
from typing import Final

from logstore.batch.any_batch import Batch
from logstore.batch.batch_attributes import (
    CODEC_BITS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    TimestampType,
)
from logstore.batch.compression.codec import Codec
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
"""The fields of a batch as a dump shows them, in order."""

TIMESTAMP_TYPES: Final = {
    TimestampType.NONE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}
"""Kafka's names."""

_CODECS: Final = frozenset(Codec)
VARYING: Final = "%s"
"""Stands for the value of a field that each batch has its own of."""


class BatchLines:
    """Gives batches their lines."""

    def __init__(self, compose: Callable[[dict[str, object]], str], *, shows_crc: bool) -> None:
        """`compose` makes a line from BATCH_FIELDS and their values, of which some are the placeholder %s.

        Where contents are masked the checksum is not shown: who guesses what is in a batch would know that he is right.
        """
        self._compose = compose
        self._shows_crc = shows_crc
        self._templates: dict[tuple[int, int, bool], str] = {}

    def line(self, batch: Batch, *, is_valid: bool) -> bytes:
        """Give a batch's line."""
        kind = (batch.attributes, batch.magic, is_valid)
        template = self._templates.get(kind)
        if template is None:
            template = self._templates[kind] = self._compose(_fields(*kind))
        base_offset, record_count = (batch.base_offset, batch.record_count) if batch.magic == 2 else _wrapped(batch)
        values = (
            base_offset,
            batch.last_offset,
            record_count,
            batch.base_sequence,
            batch.last_sequence,
            batch.producer_id,
            batch.producer_epoch,
            batch.leader_epoch,
            batch.base_timestamp if batch.attributes & DELETE_HORIZON_BIT and batch.magic == 2 else "null",
            batch.position,
            batch.base_timestamp,
            batch.max_timestamp,
            batch.size,
            batch.crc if self._shows_crc else "null",
        )
        return (template % values).encode()


def _fields(attributes: int, magic: int, is_valid: bool) -> dict[str, object]:
    """Give the fields in order: what the attributes say, and placeholders."""
    codec = attributes & CODEC_BITS
    timestamp_type = TimestampType((attributes & TIMESTAMP_TYPE_BIT) >> 3) if magic else TimestampType.NONE
    known: dict[str, object] = {
        "is_transactional": bool(attributes & TRANSACTIONAL_BIT) and magic == 2,
        "is_control": bool(attributes & CONTROL_BIT) and magic == 2,
        "timestamp_type": TIMESTAMP_TYPES[timestamp_type],
        "magic": magic,
        "codec": Codec(codec).name.lower() if codec in _CODECS else str(codec),
        "is_valid": is_valid,
    }
    return {name: known.get(name, VARYING) for name in BATCH_FIELDS}


def _wrapped(batch: Batch) -> tuple[int | str, int | str]:
    """Look into a message of magic 0 or 1, which may wrap others that cannot be read."""
    try:
        return batch.base_offset, batch.record_count
    except LogStoreError:
        return "null", "null"
