"""What happens to logs, for Python's logging: under the name `logstore`."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from logstore.log import observers
from logstore.log.observers.log_observer import LogObserver

if TYPE_CHECKING:
    from pathlib import Path

    from logstore.clock_watch import ClockDoubt
    from logstore.recovery.recovery_report import RecoveryReport

_DEBUG, _INFO, _WARNING, _ERROR = 10, 20, 30, 40
"""Python's logging, which knows them by these names, is not loaded for what nobody hears."""


def _tell(level: int, message: str, *what: object) -> None:
    """Log a message soon. Below a warning nobody hears it who has not loaded Python's logging."""
    if level >= _WARNING or "logging" in sys.modules:
        observers.logging_thread.LOGGING.tell(level, message, *what)


def _warn_surely(message: str, *what: object) -> None:
    observers.logging_thread.LOGGING.warn_surely(message, *what)


def drain() -> None:
    """Return once all that was told is logged, or handlers have taken too long."""
    if "logging" in sys.modules:
        observers.logging_thread.LOGGING.drain(observers.logging_thread.PATIENCE_SECONDS)


class LoggingObserver(LogObserver):
    """Logs rare events. Appends and flushes are not: they never come by here."""

    def rolled(self, directory: Path, base_offset: int, /) -> None:
        """Log a new segment."""
        _tell(_INFO, "%s: a new segment begins at offset %d", directory, base_offset)

    def truncated(self, directory: Path, log_end_offset: int, bytes_removed: int, /) -> None:
        """Log what was truncated."""
        _tell(_INFO, "%s: truncated to offset %d, %d bytes removed", directory, log_end_offset, bytes_removed)

    def deleted(self, directory: Path, base_offset: int, size: int, /) -> None:
        """Log what retention deleted."""
        _tell(_INFO, "%s: deleted the segment at offset %d, %d bytes", directory, base_offset, size)

    def held_back(self, directory: Path, doubt: ClockDoubt, /) -> None:
        """Warn of a clock that is not trusted."""
        _tell(_WARNING, "%s: nothing is deleted by age: %s", directory, doubt)

    def compacted(self, directory: Path, cleaner_offset: int, bytes_removed: int, /) -> None:
        """Log what compaction removed."""
        _tell(_INFO, "%s: compacted below offset %d, %d bytes removed", directory, cleaner_offset, bytes_removed)

    def recovered(self, directory: Path, report: RecoveryReport, /) -> None:
        """Warn of what was lost, and report recovery; a log that needed none is opened quietly."""
        warn = _warn_surely if report.is_only_copy else partial(_tell, _WARNING)
        for tail in report.dropped:
            kept = f"; they are in {tail.set_aside}" if tail.set_aside else ""
            warn("%s: dropped %d bytes of %s: %s%s", directory, tail.bytes, tail.file, tail.reason, kept)
        for hole in report.holes:
            (warn if report.dropped else partial(_tell, _WARNING))("%s: the log has a hole: %s", directory, hole)
        if report.damaged_epoch_checkpoint:
            _tell(
                _WARNING,
                "%s: rebuilt the leader epochs from all batches: %s",
                directory,
                report.damaged_epoch_checkpoint,
            )
        if report.damaged_offset_gaps:
            warn("%s: holes that the log may have are not known: %s", directory, report.damaged_offset_gaps)
        if report.ignored_checkpoints:
            names = ", ".join(report.ignored_checkpoints)
            warn("%s: ignored what %s says, which is of a log of another name", directory, names)
        level = _INFO if report.recovered_segments else _DEBUG
        recovered = report.recovered_segments, report.recovered_bytes
        _tell(level, "%s: opened, %d segments recovered (%d bytes)", directory, *recovered)

    def failed(self, directory: Path, error: OSError, /) -> None:
        """Log what poisoned the log."""
        _tell(_ERROR, "%s: the log refuses writes from now on: %s", directory, error)
