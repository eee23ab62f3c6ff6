"""The last record of a key in one copy."""

from typing import Final, NamedTuple

MOST_OF_VALUE: Final = 64
"""Bytes of a value that are remembered, for somebody to know it by: its record's place is there to read all of it."""


class KeyWrite(NamedTuple):
    """The last record of a key in one copy."""

    source: str
    leader_epoch: int
    offset: int
    timestamp: int
    value: bytes | None
    """Its first bytes, `MOST_OF_VALUE` at most; None for a tombstone."""
    value_size: int | None
    """Bytes of the whole value."""
