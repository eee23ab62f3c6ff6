"""The settings of a log directory."""

from dataclasses import dataclass, field

from logstore.clock_watch import HOUR_MS
from logstore.segment.open_files import default_limit
from logstore.text.brief_text import differing


@dataclass(frozen=True, slots=True)
class DirectorySettings:
    """The settings of a root, with Kafka's names and defaults of its broker configuration. Times are milliseconds."""

    num_recovery_threads_per_data_dir: int = 2
    log_flush_scheduler_interval_ms: int = 1_000
    """How often to check for logs whose `flush_ms` has passed (in Kafka practically never, by default)."""
    log_flush_offset_checkpoint_interval_ms: int = 60_000
    """How often recovery points and log start offsets are written."""
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    log_retention_check_interval_ms: int = 300_000
    log_clock_jump_max_ms: int = HOUR_MS
    """If the clock jumps further ahead than this, nothing is deleted by age: see `WatchedClock` (not in Kafka)."""
    log_cleaner_backoff_ms: int = 15_000
    """How long who calls `LogDirectory.compact` again and again is to wait in between, as brokers do."""
    max_open_files: int = field(default_factory=default_limit)
    """How many segment files are open at once; those not used recently are closed (not in Kafka).

    By default 8,192, or fewer if that is more than two thirds of the descriptors that the process may have.
    """

    def __repr__(self) -> str:
        return differing(self)

    @property
    def shortest_interval_ms(self) -> int:
        """How often something may be due."""
        return min(
            self.log_flush_scheduler_interval_ms,
            self.log_flush_offset_checkpoint_interval_ms,
            self.replica_high_watermark_checkpoint_interval_ms,
            self.log_retention_check_interval_ms,
        )
