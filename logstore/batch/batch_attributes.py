"""What the attributes of a batch say, the same bits in all magics."""

from enum import IntEnum
from typing import Final

NO_TIMESTAMP: Final = -1
NO_LEADER_EPOCH: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
SEQUENCES: Final = 2**31
"""Sequence numbers start over after this many."""
LAST_SEQUENCE: Final = SEQUENCES - 1

CODEC_BITS: Final = 0b0000_0111
TIMESTAMP_TYPE_BIT: Final = 0b0000_1000
TRANSACTIONAL_BIT: Final = 0b0001_0000
CONTROL_BIT: Final = 0b0010_0000
DELETE_HORIZON_BIT: Final = 0b0100_0000
LAST_CODEC: Final = 4
"""The highest codec that Kafka has: zstd."""
KNOWN_BITS: Final = CODEC_BITS | TIMESTAMP_TYPE_BIT | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT
"""All that have a meaning in magic 2."""


class TimestampType(IntEnum):
    """Who set the records' timestamps (KIP-32; Kafka: TimestampType)."""

    NONE = -1
    """Nobody: magic 0 has none."""
    CREATE_TIME = 0
    """The producer, each record its own."""
    LOG_APPEND_TIME = 1
    """The leader, one for the whole batch."""
