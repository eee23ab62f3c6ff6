"""What a compaction did."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """Counts over all segments that were gone over (Kafka: CleanerStats)."""

    start_offset: int
    """Where the part began that had not been compacted yet."""
    end_offset: int
    """Below it each key has one record now; where the two are the same there was nothing to do."""
    segments_before: int = 0
    segments_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    """Of the segments that were gone over, and of those that took their place."""
