"""The index files beside the segments that a mirror writes: they are there from the start, as a broker's are."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from epoch.filesystem import REAL, FileSystem
from logstore.log.log_observer import LogObserver
from logstore.recovery.recovery_report import RecoveryReport

_SUFFIXES: Final = (".index", ".timeindex")


class IndexFiles(LogObserver):
    """Makes empty index files for each log's last segment, whose entries are in memory until it is flushed or rolls.

    Without them a copy that is written, or whose mirror was killed, seems to have lost its indexes: a broker makes the
    files with the segment. Both rebuild them when they recover.
    """

    def __init__(self, filesystem: FileSystem = REAL) -> None:
        """Make them on this disk."""
        self._filesystem = filesystem

    def rolled(self, log: Path, base_offset: int) -> None:
        """Make those of the segment that begins."""
        del base_offset
        self._make(log)

    def truncated(self, log: Path, log_end_offset: int, bytes_removed: int) -> None:
        """Make those of the segment that is the last now."""
        del log_end_offset, bytes_removed
        self._make(log)

    def recovered(self, log: Path, report: RecoveryReport) -> None:
        """Make those of the segment that goes on."""
        del report
        self._make(log)

    def _make(self, log: Path) -> None:
        # What cannot be made now is when the segment is flushed; a disk that fails is told of by then.
        with suppress(OSError):
            segment = max(log.glob("*.log"), default=None)
            missing = [path for path in map(segment.with_suffix, _SUFFIXES) if not path.exists()] if segment else []
            for path in missing:
                self._filesystem.close(self._filesystem.open(path))
