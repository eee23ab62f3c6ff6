"""The index files of the segments that a mirror writes: made with the segment, as a broker does."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from epoch.filesystem import REAL, FileSystem
from logstore.log.observers.log_observer import LogObserver
from logstore.recovery.recovery_report import RecoveryReport

_SUFFIXES: Final = (".index", ".timeindex")


class IndexFiles(LogObserver):
    """Creates empty index files for each log's last segment; entries stay in memory until it is flushed or rolled.

    Without them a copy that is being written, or whose mirror was killed, seems to lack its indexes: a broker makes the
    files with the segment. Both rebuild them when they recover.
    """

    def __init__(self, filesystem: FileSystem = REAL) -> None:
        """Create them on this disk."""
        self._filesystem = filesystem

    def rolled(self, log: Path, base_offset: int) -> None:
        """Create those of the segment that begins."""
        del base_offset
        self._make(log)

    def truncated(self, log: Path, log_end_offset: int, bytes_removed: int) -> None:
        """Create those of the segment that is the last now."""
        del log_end_offset, bytes_removed
        self._make(log)

    def recovered(self, log: Path, report: RecoveryReport) -> None:
        """Create those of the segment that is continued."""
        del report
        self._make(log)

    def _make(self, log: Path) -> None:
        # An index that cannot be written now is written when the segment is flushed; a failing disk shows then.
        with suppress(OSError):
            segment = max(log.glob("*.log"), default=None)
            missing = [path for path in map(segment.with_suffix, _SUFFIXES) if not path.exists()] if segment else []
            for path in missing:
                self._filesystem.close(self._filesystem.open(path))
