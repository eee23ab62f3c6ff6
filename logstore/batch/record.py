"""One record: what a producer sent and the offset and time that the log gave it."""

from collections.abc import Iterable, Mapping
from operator import index
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from logstore.batch.buffer import BUFFERS
from logstore.clock import now_ms

if TYPE_CHECKING:
    from datetime import datetime


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
        timestamp: "int | datetime | None" = None,
        headers: "Headers" = (),
    ) -> Self:
        """Create a record to write: its offset is -1 until the log assigns one, and its time is now by default.

        Text, as a key or a header's value, becomes UTF-8. A `datetime` without a time zone is local time. Headers are a
        mapping, or pairs, whose keys may repeat. Raises TypeError for whatever is none of these.

        >>> Record.of(b"3 cups", "order-7", timestamp=datetime.now(UTC), headers={"trace": "a1"})
        """
        if type(value) is not bytes:
            _ensure_content(value, "value", "bytes or None; encode text, by 'text'.encode()")
        if isinstance(key, str):
            key = key.encode()
        elif type(key) is not bytes:
            _ensure_content(key, "key", _TEXT_TOO)
        written = now_ms() if timestamp is None else timestamp
        if type(written) is not int:
            written = _milliseconds(written)
        return cls(-1, written, key, value, _headers(headers) if headers else ())


_TEXT_TOO: Final = "bytes, text or None"

Headers = Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]]
"""What `Record.of` takes for headers."""


def _headers(given: Headers) -> tuple[Header, ...]:
    try:
        pairs = given.items() if isinstance(given, Mapping) else given
        headers = tuple([Header(key, value.encode() if isinstance(value, str) else value) for key, value in pairs])
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"headers of type {type(given).__name__}: pass a mapping of names to values, or pairs of both"
        ) from error
    for key, value in headers:
        if type(key) is not str:
            _ensure_name(key)
        if type(value) is not bytes:
            _ensure_content(value, f"header {key!r}", _TEXT_TOO)
    return headers


def _ensure_name(given: object) -> None:
    if not isinstance(given, str):
        raise TypeError(f"the name of a header is of type {type(given).__name__}: pass text, a str")


def _ensure_content(given: object, name: str, right: str) -> None:
    if given is not None and not isinstance(given, BUFFERS):
        raise TypeError(f"the {name} is of type {type(given).__name__}: pass {right}")


def _milliseconds(time: object) -> int:
    """Return a time as a record has it. Raises TypeError for what is none."""
    from datetime import datetime  # noqa: PLC0415  start-up time

    if isinstance(time, datetime):
        return round(time.timestamp() * 1000)
    if isinstance(time, bool) or not hasattr(time, "__index__"):
        kind = type(time).__name__
        raise TypeError(f"the timestamp is of type {kind}: pass milliseconds since 1970 UTC, an int, or a datetime")
    return index(time)
