"""One append as its producers see it: checked against what they wrote before, not yet taken over."""

from typing import NamedTuple


class AppendedBatch(NamedTuple):
    """A producer's earlier batch (Kafka: BatchMetadata)."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    """Its last offset minus its first."""
    timestamp: int
    """Its largest, in milliseconds since 1970 UTC."""


class ProducerAppend:
    """What an append changes, once it is written (Kafka: ProducerAppendInfo, for all producers of an append)."""

    duplicate: AppendedBatch | None
    """The batch was written before: write nothing, and answer with this one's offsets."""
