"""What recovery has cut off."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DroppedTail:
    """The end of a segment's file that was cut off, bytes that were taken out of it, or a whole segment."""

    file: str
    position: int
    """Where the first byte stood that was dropped."""
    bytes: int
    reason: str
    records: int | None = None
    """At least so many in whole batches, by the headers that can be followed; None where none can."""
    end_offset: int | None = None
    """One beyond the last record of those; None where there is none."""
    set_aside: str = ""
    """The file in the log's directory that has the bytes now; empty where nothing was set aside."""
