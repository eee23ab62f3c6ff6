"""How often something has happened to a broker's partitions, since it started."""

from threading import Lock
from typing import Final

from replication.cluster.broker.events.partition_events import IsrChanged, PartitionEvent, RoleChanged, Truncated
from replication.cluster.broker.events.recovery_events import RecoveryTruncated


class EventCounts:
    """Any thread may note; numbers only grow."""

    def __init__(self) -> None:
        """Begin with none."""
        self.isr_shrinks: int = 0
        """ISRs that a leader here has made smaller (Kafka: IsrShrinksPerSec)."""
        self.isr_expands: int = 0
        """And larger (Kafka: IsrExpandsPerSec)."""
        self.role_changes: int = 0
        self.truncations: int = 0
        self.truncations_below_high_watermark: int = 0
        self.records_truncated: int = 0
        """As far as they were counted."""
        self.recovery_truncations: int = 0
        """Logs that recovery has cut, or found to end below their high watermark."""
        self.recovery_truncations_below_high_watermark: int = 0
        self.records_truncated_by_recovery: int = 0
        """As far as they were counted."""
        self.bytes_truncated_by_recovery: int = 0
        self._lock: Final = Lock()

    def note(self, event: PartitionEvent | RecoveryTruncated) -> None:
        """Count it."""
        with self._lock:
            match event:
                case RoleChanged():
                    self.role_changes += 1
                case IsrChanged(is_asked=True):
                    self.isr_shrinks += event.has_shrunk
                    self.isr_expands += event.has_expanded
                case Truncated():
                    self.truncations += 1
                    self.truncations_below_high_watermark += event.is_below_high_watermark
                    self.records_truncated += event.records or 0
                case RecoveryTruncated():
                    self.recovery_truncations += 1
                    self.recovery_truncations_below_high_watermark += event.is_below_high_watermark
                    self.records_truncated_by_recovery += event.records or 0
                    self.bytes_truncated_by_recovery += event.report.dropped_bytes
                case _:
                    pass
