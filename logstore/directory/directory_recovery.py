"""What recovery did to all logs of a root, as it was opened."""

from collections.abc import Iterable
from dataclasses import dataclass

from logstore.recovery.recovery_report import RecoveryReport


@dataclass(frozen=True, slots=True)
class DirectoryRecovery:
    """Sums over the logs of a root that was not closed in order; each log's own `report` has the rest."""

    logs: int
    truncated_logs: int
    """Logs of which something was dropped."""
    segments: int
    """Segments that were checked batch by batch."""
    bytes: int
    seconds: float
    """From the first log to the last: several are recovered at once."""

    @classmethod
    def of(cls, reports: Iterable[RecoveryReport], seconds: float) -> "DirectoryRecovery":
        """Sum up."""
        reports = tuple(reports)
        return cls(
            logs=len(reports),
            truncated_logs=sum(bool(each.dropped) for each in reports),
            segments=sum(each.recovered_segments for each in reports),
            bytes=sum(each.recovered_bytes for each in reports),
            seconds=seconds,
        )
