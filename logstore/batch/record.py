"""One record: what a producer sent and the offset and time that the log gave it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

from logstore.clock import now_ms


class Header(NamedTuple):
    """A record header (KIP-82). Keys may repeat; a value may be absent."""

    key: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Record:
    """One record: read from a log, or created with `of` to be written.

    `timestamp` is in milliseconds since 1970 UTC, -1 if the format has none (magic 0). A `value` of None is a
    tombstone: compaction removes the key.

    >>> log.append([Record.of(b"value"), Record.of(b"value", b"key")])
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()

    @classmethod
    def of(
        cls,
        value: bytes | None,
        key: bytes | None = None,
        *,
        timestamp: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> Self:
        """Create a record to write: its offset is -1 until the log assigns one, and its time is now by default."""
        written = now_ms() if timestamp is None else timestamp
        return cls(-1, written, key, value, tuple(Header(*each) for each in headers))
