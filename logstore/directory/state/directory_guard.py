"""Who may use a log directory now: one thread at a time, outside of its own calls, in the process that opened it."""

from pathlib import Path
from typing import NoReturn

from logstore.directory.state.disk_watch import DiskWatch
from logstore.directory.state.partitions import Partitions
from logstore.errors import ReentrantCallError, inherited_directory
from logstore.files.directory_lock import DirectoryLock
from logstore.log.log import Log
from logstore.log.state.call_guard import CallGuard


class DirectoryGuard(CallGuard):
    """Refuses calls in signal handlers and forked processes, of a closed directory, and of one that is offline."""

    def __init__(
        self, root: Path, lock: DirectoryLock, partitions: Partitions, disk: DiskWatch, files: CallGuard
    ) -> None:
        """Guard a directory whose `lock` is held; logs write its files under a guard of their own."""
        self._root_lock = lock
        self._partitions = partitions
        self._disk = disk
        self._files = files
        super().__init__(root, "log directory")

    def refuse(self) -> NoReturn:
        """Raise DirectoryLockedError: the directory is another process's."""
        raise inherited_directory(self._directory)

    @property
    def is_online(self) -> bool:
        """Whether the directory is open, and its disk has not failed."""
        return self._disk.failure is None and self._root_lock.held

    def ensure_online(self) -> None:
        """Raise DirectoryLockedError in a forked process or once closed, OfflineDirectoryError once the disk failed."""
        if self.is_inherited:
            self.refuse()
        self._root_lock.ensure_held()
        self._disk.ensure_works()

    def ensure_not_nested(self) -> None:
        """Raise ReentrantCallError in the middle of a call of this thread that changes the directory, or its files."""
        super().ensure_not_nested()
        self._files.ensure_not_nested()

    @property
    def is_in_call(self) -> bool:
        """Whether this thread is in the middle of a call of the directory or of one of its logs."""
        return self.is_nested() or self._files.is_nested() or self.log_in_call is not None

    @property
    def log_in_call(self) -> Log | None:
        """A log of which this thread is in the middle of a call."""
        return next((log for log in list(self._partitions.open_logs.values()) if log.is_in_call), None)

    def ensure_logs_not_nested(self) -> None:
        """Raise ReentrantCallError in the middle of a log's call of this thread, for which all would wait in vain."""
        log = self.log_in_call
        if log is not None:
            raise ReentrantCallError(
                "this thread is in a call of a log of the directory",
                file=log.directory,
                advice="do not close the directory in a signal handler that may interrupt such a call",
            )
