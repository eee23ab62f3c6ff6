"""Writes the checkpoint files of a directory while it is in use."""

from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.state.directory_guard import DirectoryGuard
from logstore.directory.state.disk_watch import DiskWatch
from logstore.directory.state.partitions import Partitions


class CheckpointWriter:
    """Writes what the open logs say by then; the caller holds the directory's lock."""

    def __init__(self, files: CheckpointFiles, partitions: Partitions, guard: DirectoryGuard, disk: DiskWatch) -> None:
        """Write nothing yet."""
        self._files = files
        self._partitions = partitions
        self._guard = guard
        self._disk = disk

    def write_recovery_points(self) -> None:
        """Write the recovery points and the log start offsets. Raises OSError, and as `ensure_online` does."""
        with self._disk.watched():
            self._guard.ensure_online()
            self._files.write_recovery_points(self._partitions.open_logs)

    def write_high_watermarks(self) -> None:
        """Write the high watermarks. Raises OSError, and as `ensure_online` does."""
        with self._disk.watched():
            self._guard.ensure_online()
            self._files.write_high_watermarks(self._partitions.open_logs)
