"""Where an epoch starts and ends."""

from typing import Final, NamedTuple

UNDEFINED_EPOCH: Final = -1
"""No epoch is known (Kafka: OffsetsForLeaderEpochResponse.UNDEFINED_EPOCH)."""

UNDEFINED_EPOCH_OFFSET: Final = -1
"""No end offset is known (Kafka: OffsetsForLeaderEpochResponse.UNDEFINED_EPOCH_OFFSET)."""


class EpochEntry(NamedTuple):
    """The leader of `epoch` wrote its first record at `start_offset` (Kafka: EpochEntry)."""

    epoch: int
    start_offset: int


class EndOffset(NamedTuple):
    """`epoch` ends before `end_offset`: the answer to OffsetForLeaderEpoch (KIP-101, KIP-279)."""

    epoch: int
    end_offset: int


UNDEFINED_END_OFFSET: Final = EndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
"""The answer of a leader that does not know the requested epoch."""
