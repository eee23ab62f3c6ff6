"""What an append did."""

from typing import Final, NamedTuple


class AppendInfo(NamedTuple):
    """The offsets that an append got (Kafka: LogAppendInfo)."""

    first_offset: int
    """-1 where nothing was to append."""
    last_offset: int
    max_timestamp: int
    """The largest of all records, in milliseconds since 1970 UTC."""
    size: int
    """Bytes written."""
    is_duplicate: bool = False
    """A producer sent the batch again: nothing was written, and the offsets are those of the first time."""


NOTHING_APPENDED: Final = AppendInfo(-1, -1, -1, 0)
