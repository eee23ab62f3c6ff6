"""The state of each of a mirror's partitions, as it is shown, exported, and used to decide when to stop."""

from collections import Counter
from dataclasses import dataclass, field

from logstore import TopicPartition
from replication.cluster.fetcher.removed_records import RemovedRecords


@dataclass(slots=True)
class Tally:
    """What has been done for one partition since the mirror started. One thread writes, any reads."""

    bytes: int = 0
    appends: int = 0
    truncations: int = 0
    truncations_below_high_watermark: int = 0
    records_truncated: int = 0
    records_truncated_below_high_watermark: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    """Responses with an error, and failed requests, by Kafka's name of the error or the kind of failure."""

    def add_cut(self, removed: RemovedRecords, *, is_below_high_watermark: bool) -> None:
        """Count a truncation, if it removed something."""
        if not removed.bytes:
            return
        self.truncations += 1
        self.records_truncated += removed.records
        if is_below_high_watermark:
            self.truncations_below_high_watermark += 1
            self.records_truncated_below_high_watermark += removed.records


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One partition at one moment."""

    partition: TopicPartition
    phase: str
    """Its state: `fetching`, `truncating`, `failed`, ..."""
    reason: str
    """Why it waits or has failed."""
    leader_epoch: int
    """-1 while no leader is known."""
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    lag: int | None
    """Offsets up to the leader's high watermark; None before its first answer."""
    tally: Tally
    failed: bool = False
