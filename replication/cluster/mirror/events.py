"""Events of a mirror's partitions, each as a line of text and as JSON."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from logstore import TopicPartition
from replication.cluster.fetcher.fetch_observer import Cut
from replication.cluster.fetcher.removed_records import RemovedRecords


@dataclass(frozen=True, slots=True)
class LeaderChanged:
    """A partition has a new leader, or the same leader in a new epoch."""

    event: ClassVar[str] = "leader-changed"
    partition: TopicPartition
    leader_id: int
    leader_epoch: int
    log_end_offset: int

    def __str__(self) -> str:
        return (
            f"{self.partition}: broker {self.leader_id} leads in epoch {self.leader_epoch}; fetching "
            f"from offset {self.log_end_offset:,}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return what a JSON line says."""
        return _of(self.partition) | {
            "leader_id": self.leader_id,
            "leader_epoch": self.leader_epoch,
            "log_end_offset": self.log_end_offset,
        }


@dataclass(frozen=True, slots=True)
class Truncated:
    """The copy was truncated, because the leader's log does not have its last records."""

    event: ClassVar[str] = "truncated"
    cut: Cut
    removed: RemovedRecords
    kept: Path | None
    """The file that keeps the removed records; None if they are not kept."""

    def __str__(self) -> str:
        cut, removed = self.cut, self.removed
        what = "restarted at" if cut.starts_afresh else "truncated to"
        below = f", some below the high watermark {cut.high_watermark:,}" if cut.is_below_high_watermark else ""
        kept = f"; kept in {self.kept}" if self.kept else ""
        return (
            f"{cut.partition}: {what} {cut.offset:,} from {cut.log_end_offset:,} under leader epoch "
            f"{cut.leader_epoch}: {removed.records:,} records in {removed.bytes:,} bytes removed{below}; "
            f"{cut.reason}{kept}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return what a JSON line says."""
        cut = self.cut
        return _of(cut.partition) | {
            "leader_epoch": cut.leader_epoch,
            "log_end_offset_before": cut.log_end_offset,
            "log_end_offset": cut.offset,
            "high_watermark_before": cut.high_watermark,
            "below_high_watermark": cut.is_below_high_watermark,
            "starts_afresh": cut.starts_afresh,
            "records_removed": self.removed.records,
            "bytes_removed": self.removed.bytes,
            "reason": cut.reason,
            "kept": None if self.kept is None else str(self.kept),
        }


@dataclass(frozen=True, slots=True)
class Failed:
    """A partition has failed and is no longer followed; the others go on."""

    event: ClassVar[str] = "failed"
    partition: TopicPartition
    reason: str

    def __str__(self) -> str:
        return f"{self.partition}: failed: {self.reason}"

    def as_json(self) -> dict[str, Any]:
        """Return what a JSON line says."""
        return _of(self.partition) | {"reason": self.reason}


@dataclass(frozen=True, slots=True)
class Refused:
    """A leader's response was invalid; nothing of it was stored."""

    event: ClassVar[str] = "refused"
    partition: TopicPartition
    reason: str

    def __str__(self) -> str:
        return f"{self.partition}: {self.reason}"

    def as_json(self) -> dict[str, Any]:
        """Return what a JSON line says."""
        return _of(self.partition) | {"reason": self.reason}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A partition has had no known leader for some time; it is followed once it has one."""

    event: ClassVar[str] = "waiting"
    partition: TopicPartition
    reason: str

    def __str__(self) -> str:
        return f"{self.partition}: waiting: {self.reason}"

    def as_json(self) -> dict[str, Any]:
        """Return what a JSON line says."""
        return _of(self.partition) | {"reason": self.reason}


@dataclass(frozen=True, slots=True)
class Disconnected:
    """A broker cannot be reached, or closed the connection; the mirror keeps retrying."""

    event: ClassVar[str] = "disconnected"
    address: str
    reason: str

    def __str__(self) -> str:
        return self.reason if self.address in self.reason else f"{self.address}: {self.reason}"

    def as_json(self) -> dict[str, Any]:
        """Return what a JSON line says."""
        return {"address": self.address, "reason": self.reason}


Event = LeaderChanged | Truncated | Failed | Refused | Waiting | Disconnected


def _of(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}
