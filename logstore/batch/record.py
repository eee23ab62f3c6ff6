"""One record: what a producer sent and the offset and time that the log gave it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, Self

from logstore.clock import now_ms


class Header(NamedTuple):
    """A record header (KIP-82). Keys may repeat; a value may be absent."""

    key: str
    value: bytes | None


class Record(NamedTuple):
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
        key: bytes | str | None = None,
        *,
        timestamp: int | datetime | None = None,
        headers: "Headers" = (),
    ) -> Self:
        """Create a record to write: its offset is -1 until the log assigns one, and its time is now by default.

        Text, as a key or a header's value, becomes UTF-8. A `datetime` without a time zone is local time. Headers are a
        mapping, or pairs, whose keys may repeat.

        >>> Record.of(b"3 cups", "order-7", timestamp=datetime.now(UTC), headers={"trace": "a1"})
        """
        written = now_ms() if timestamp is None else timestamp
        if isinstance(written, datetime):
            written = round(written.timestamp() * 1000)
        return cls(-1, written, key.encode() if isinstance(key, str) else key, value, _headers(headers))


Headers = Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]]
"""What `Record.of` takes for headers."""


def _headers(given: Headers) -> tuple[Header, ...]:
    if not given:
        return ()
    try:
        pairs = given.items() if isinstance(given, Mapping) else given
        return tuple(Header(key, value.encode() if isinstance(value, str) else value) for key, value in pairs)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"headers of type {type(given).__name__}: pass a mapping of names to values, or pairs of both"
        ) from error
