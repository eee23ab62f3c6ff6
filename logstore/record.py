"""One record: what a producer sent and the offset and time that the log gave it."""

from dataclasses import dataclass
from typing import NamedTuple


class Header(NamedTuple):
    """A record header (KIP-82). Keys may repeat; a value may be absent."""

    key: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a log.

    `timestamp` is in milliseconds since 1970 UTC, -1 where the format has none (magic 0). A `value` of None is a
    tombstone: compaction removes the key.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
