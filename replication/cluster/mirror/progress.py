"""The progress of a mirror as a whole, and its rate."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from replication.base.counted import counted
from replication.cluster.mirror.status import PartitionStatus


@dataclass(frozen=True, slots=True)
class Progress:
    """All partitions together, at one moment."""

    time_ms: int
    partitions: int
    failed: int
    lagging: int
    """Partitions that do not yet hold what their leader has committed, or whose lag is not known."""
    unknown: int
    """Those of `lagging` whose lag is not known: their leader has not answered yet, or cannot be reached."""
    lag: int
    """Offsets up to the leaders' high watermarks, as far as these are known."""
    bytes: int
    """Bytes appended since the mirror started."""
    truncations: int
    bytes_per_second: float = 0

    @classmethod
    def of(cls, statuses: Iterable[PartitionStatus], time_ms: int, before: "Progress | None" = None) -> Self:
        """Add up the partitions; the rate is that since `before`."""
        partitions = failed = lagging = unknown = lag = size = truncations = 0
        for status in statuses:
            partitions += 1
            failed += status.failed
            lagging += not status.failed and status.lag != 0
            unknown += not status.failed and status.lag is None
            lag += status.lag or 0
            size += status.tally.bytes
            truncations += status.tally.truncations
        rate = 0.0
        if before is not None and time_ms > before.time_ms:
            rate = (size - before.bytes) * 1_000 / (time_ms - before.time_ms)
        return cls(time_ms, partitions, failed, lagging, unknown, lag, size, truncations, rate)

    def __str__(self) -> str:
        parts = [
            counted(self.partitions, "partition"),
            f"{self.bytes / 1e6:,.1f} MB copied",
            f"{self.bytes_per_second / 1e6:,.1f} MB/s",
        ]
        if self.lagging > self.unknown:
            parts.append(f"{self.lagging - self.unknown:,} behind by {self.lag:,} offsets")
        if self.unknown:
            parts.append(f"{self.unknown:,} with unknown lag")
        if not self.lagging:
            parts.append("caught up")
        if self.truncations:
            parts.append(counted(self.truncations, "truncation"))
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Return what a JSON line says."""
        return {
            "partitions": self.partitions,
            "failed": self.failed,
            "lagging": self.lagging,
            "unknown": self.unknown,
            "lag": self.lag,
            "bytes": self.bytes,
            "bytes_per_second": round(self.bytes_per_second),
            "truncations": self.truncations,
        }
