"""Hooks for metrics that report what happens to a log."""

from pathlib import Path

from logstore.append.append_info import AppendInfo
from logstore.clock_watch import ClockDoubt
from logstore.recovery.recovery_report import RecoveryReport


class LogObserver:
    """Callbacks, each with the directory of the log that it is about; a subclass has those that it wants.

    They are called in the thread of the call that they report, in the middle of it and with the log's lock held: be
    quick, wait for no other lock, and raise nothing. Calls that change the log raise ReentrantCallError meanwhile.
    A log without an observer pays nothing.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def appended(self, directory: Path, info: AppendInfo, /) -> None:
        """Observe batches that were written, or found to be duplicates."""

    def flushed(self, directory: Path, recovery_point: int, seconds: float, /) -> None:
        """Observe that everything below `recovery_point` is on stable storage."""

    def rolled(self, directory: Path, base_offset: int, /) -> None:
        """Observe that a new segment begins."""

    def truncated(self, directory: Path, log_end_offset: int, bytes_removed: int, /) -> None:
        """Observe that the log was truncated, or restarted empty."""

    def deleted(self, directory: Path, base_offset: int, size: int, /) -> None:
        """Observe that a segment was deleted, by retention or below the log's start."""

    def held_back(self, directory: Path, doubt: ClockDoubt, /) -> None:
        """Observe that segments are kept that are too old by a clock that is not trusted: see `WatchedClock`."""

    def compacted(self, directory: Path, cleaner_offset: int, bytes_removed: int, /) -> None:
        """Observe that the log was compacted below `cleaner_offset`."""

    def recovered(self, directory: Path, report: RecoveryReport, /) -> None:
        """Observe that the log was opened, and what recovery did."""

    def failed(self, directory: Path, error: OSError, /) -> None:
        """Observe that the disk failed and that the log refuses further writes."""
