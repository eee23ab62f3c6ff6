"""A key that two copies wrote after they diverged, and what becomes of it."""

from dataclasses import dataclass

from replication.salvage.columns.key_write import KeyWrite


@dataclass(slots=True)
class Conflict:
    """A key of one partition, with the last write of a losing copy and of one that diverges from it."""

    key: bytes
    losing: KeyWrite
    other: KeyWrite
    """The kept copy's, or that of another losing copy where the kept one has not written the key."""
    records: int = 0
    """Of the losing side."""
    salvaged: int = 0
    """How many of them are salvaged."""
