"""Hooks for metrics and logging that report what happens to a log."""

from pathlib import Path

from logstore.append.append_info import AppendInfo
from logstore.recovery.recovery_report import RecoveryReport


class LogObserver:
    """Callbacks for metrics and logging. Called with the log's lock held: be quick, and raise nothing.

    A log without an observer pays nothing.
    """

    def appended(self, log: Path, info: AppendInfo) -> None:
        """Observe batches that were written, or found to be duplicates."""

    def flushed(self, log: Path, recovery_point: int, seconds: float) -> None:
        """Observe that everything below `recovery_point` is on stable storage."""

    def rolled(self, log: Path, base_offset: int) -> None:
        """Observe that a new segment begins."""

    def truncated(self, log: Path, log_end_offset: int, bytes_removed: int) -> None:
        """Observe that the log was truncated, or restarted empty."""

    def deleted(self, log: Path, base_offset: int, size: int) -> None:
        """Observe that a segment was deleted, by retention or below the log's start."""

    def compacted(self, log: Path, cleaner_offset: int, bytes_removed: int) -> None:
        """Observe that the log was compacted below `cleaner_offset`."""

    def recovered(self, log: Path, report: RecoveryReport) -> None:
        """Observe that the log was opened, and what recovery did."""

    def failed(self, log: Path, error: OSError) -> None:
        """Observe that the disk failed and that the log refuses further writes."""


class LogObservers(LogObserver):
    """Several observers of one log, told in turn."""

    def __init__(self, *observers: LogObserver) -> None:
        """Take the observers."""
        self._observers = observers

    def appended(self, log: Path, info: AppendInfo) -> None:
        """Tell all."""
        for each in self._observers:
            each.appended(log, info)

    def flushed(self, log: Path, recovery_point: int, seconds: float) -> None:
        """Tell all."""
        for each in self._observers:
            each.flushed(log, recovery_point, seconds)

    def rolled(self, log: Path, base_offset: int) -> None:
        """Tell all."""
        for each in self._observers:
            each.rolled(log, base_offset)

    def truncated(self, log: Path, log_end_offset: int, bytes_removed: int) -> None:
        """Tell all."""
        for each in self._observers:
            each.truncated(log, log_end_offset, bytes_removed)

    def deleted(self, log: Path, base_offset: int, size: int) -> None:
        """Tell all."""
        for each in self._observers:
            each.deleted(log, base_offset, size)

    def compacted(self, log: Path, cleaner_offset: int, bytes_removed: int) -> None:
        """Tell all."""
        for each in self._observers:
            each.compacted(log, cleaner_offset, bytes_removed)

    def recovered(self, log: Path, report: RecoveryReport) -> None:
        """Tell all."""
        for each in self._observers:
            each.recovered(log, report)

    def failed(self, log: Path, error: OSError) -> None:
        """Tell all."""
        for each in self._observers:
            each.failed(log, error)
