"""A key that two copies wrote after they diverged, and what becomes of it."""

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from logstore.text.record_mask import RecordMask, masked_length

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

    def masked(self, mask: RecordMask) -> "KeyWrite":
        """Return it with its value masked; of one that is not remembered whole the length is shown in any case."""
        if self.value is None or self.value_size is None or not mask.values:
            return self
        is_whole = len(self.value) == self.value_size
        return self._replace(value=mask.masked(self.value) if is_whole else masked_length(self.value_size))


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

    def masked(self, mask: RecordMask) -> "Conflict":
        """Return it with key and values masked."""
        key = mask.key(self.key) or b""
        return replace(self, key=key, losing=self.losing.masked(mask), other=self.other.masked(mask))
