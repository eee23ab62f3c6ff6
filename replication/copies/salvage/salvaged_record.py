"""One record of a losing copy, with where it was found."""

from base64 import b64encode
from collections.abc import Iterator
from typing import NamedTuple

from logstore.batch.any_batch import Batch
from logstore.batch.batch_attributes import LAST_SEQUENCE, NO_SEQUENCE, TimestampType
from logstore.batch.record import Header


class SalvagedRecord(NamedTuple):
    """A record as a losing copy holds it; what the format does not have is -1, as in batches."""

    topic: str
    partition: int
    leader_epoch: int
    offset: int
    timestamp: int
    """Milliseconds since 1970 UTC."""
    timestamp_type: TimestampType
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    producer_id: int
    producer_epoch: int
    sequence: int
    source: str
    """The broker whose copy it was found in."""
    transaction: int
    """The offset of the first record of its transaction there."""


def in_base64(content: bytes | None) -> str | None:
    """Write bytes as JSON can have them."""
    return None if content is None else b64encode(content).decode()


def sequence_of(batch: Batch, offset: int) -> int:
    """Return the sequence number that its producer gave the record at `offset`; -1 without an idempotent producer."""
    if batch.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return (batch.base_sequence + offset - batch.base_offset) & LAST_SEQUENCE


def sequences_of(batch: Batch) -> Iterator[tuple[int, int]]:
    """Give the first and last sequence number of a batch: two pairs where the numbers start over within it."""
    if batch.base_sequence == NO_SEQUENCE:
        return
    if batch.last_sequence >= batch.base_sequence:
        yield batch.base_sequence, batch.last_sequence
    else:
        yield batch.base_sequence, LAST_SEQUENCE
        yield 0, batch.last_sequence
