"""What an entry of a segment's offset index, and one of its time index, says."""

from typing import NamedTuple


class OffsetIndexEntry(NamedTuple):
    """The batch at `position` of the log file ends with `last_offset`."""

    last_offset: int
    position: int


class TimeIndexEntry(NamedTuple):
    """No record up to `offset` is later than `timestamp` (milliseconds since 1970 UTC)."""

    timestamp: int
    offset: int
