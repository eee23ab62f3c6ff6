"""How much work opening logs after an unclean stop is, told beforehand."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

from logstore.partition_directory import PartitionDirectory

CACHED_BYTES_A_SECOND: Final = 5_000_000_000
DISK_BYTES_A_SECOND: Final = 500_000_000
"""Roughly, for one thread: what is checked comes from the page cache, or from an ordinary solid-state disk."""


@dataclass(frozen=True, slots=True)
class RecoveryEstimate:
    """What recovery will read: the segments from each log's recovery point on."""

    partitions: int = 0
    segments: int = 0
    bytes: int = 0

    @classmethod
    def of(cls, partitions: Iterable[PartitionDirectory]) -> Self:
        """Add up what the partitions' directories and checkpoints tell; nothing after a clean stop. Raises OSError."""
        count = segments = size = 0
        for partition in partitions:
            unflushed = unflushed_segments(partition)
            count += bool(unflushed)
            segments += len(unflushed)
            size += sum(unflushed)
        return cls(count, segments, size)

    @property
    def seconds(self) -> tuple[float, float]:
        """With one thread, at best (all of it in the page cache) and at worst."""
        return self.bytes / CACHED_BYTES_A_SECOND, self.bytes / DISK_BYTES_A_SECOND

    def __str__(self) -> str:
        best, worst = self.seconds
        time = f"{best:.1f} to {worst:.1f} seconds" if worst >= 1 else "less than a second"
        return f"{self.bytes:,} bytes in {self.segments:,} segments of {self.partitions:,} partitions to check: {time}"

    def as_json(self) -> dict[str, Any]:
        """Return a document of plain values."""
        return {
            "partitions": self.partitions,
            "segments": self.segments,
            "bytes": self.bytes,
            "seconds": list(self.seconds),
        }


def unflushed_segments(partition: PartitionDirectory) -> list[int]:
    """Return the sizes of the segments that recovery checks."""
    if partition.checkpoints.clean_shutdown:
        return []
    segments = partition.segments
    recovery_point = partition.checkpoints.recovery_point or 0
    ends = [*(segment.base_offset for segment in segments[1:]), None]
    return [segment.size for segment, end in zip(segments, ends, strict=False) if end is None or end > recovery_point]
