"""Who may use a log directory now: one thread at a time, outside of its own calls, in the process that opened it."""

from pathlib import Path
from threading import RLock
from typing import NoReturn

from epoch.forked import RefusedLock, detach_after_fork
from logstore.directory.state.disk_watch import DiskWatch
from logstore.directory.state.partitions import Partitions
from logstore.errors import ReentrantCallError, inherited_directory
from logstore.files.directory_lock import DirectoryLock
from logstore.log.log import Log


class DirectoryGuard:
    """Refuses calls in signal handlers and forked processes, of a closed directory, and of one that is offline."""

    def __init__(self, root: Path, lock: DirectoryLock, partitions: Partitions, disk: DiskWatch) -> None:
        """Guard a directory whose `lock` is held."""
        self._root = root
        self._lock = lock
        self._partitions = partitions
        self._disk = disk
        self.changes: RLock | RefusedLock = RLock()
        """Held by whoever changes the directory."""
        self.is_inherited = False
        """Whether this process was forked from the one whose directory it is."""
        detach_after_fork(self)

    def detach(self) -> None:
        """Take nothing more, and leave everything as it is: for a forked process, which does not hold the lock."""
        self.is_inherited = True
        self.changes = RefusedLock(self._refuse)

    @property
    def is_online(self) -> bool:
        """Whether the directory is open, and its disk has not failed."""
        return self._disk.failure is None and self._lock.held

    def ensure_online(self) -> None:
        """Raise DirectoryLockedError in a forked process or once closed, OfflineDirectoryError once the disk failed."""
        if self.is_inherited:
            self._refuse()
        self._lock.ensure_held()
        self._disk.ensure_works()

    @property
    def is_in_call(self) -> bool:
        """Whether a signal handler has interrupted a call of its own thread; the lock itself would let it in."""
        changes = self.changes
        return not isinstance(changes, RefusedLock) and changes._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001

    def ensure_between_calls(self) -> None:
        """Raise ReentrantCallError in the middle of a call of this thread: it goes on with what it has found."""
        if self.is_in_call:
            raise ReentrantCallError(
                "this thread is already in a call of the log directory",
                file=self._root,
                advice="do not use it in a signal handler that may interrupt such a call",
            )

    @property
    def log_in_call(self) -> Log | None:
        """A log of which this thread is in the middle of a call."""
        return next((log for log in list(self._partitions.logs.values()) if log.is_in_call), None)

    def ensure_logs_between_calls(self) -> None:
        """Raise ReentrantCallError in the middle of a log's call of this thread, for which all would wait in vain."""
        log = self.log_in_call
        if log is not None:
            raise ReentrantCallError(
                "this thread is in a call of a log of the directory",
                file=log.directory,
                advice="do not close the directory in a signal handler that may interrupt such a call",
            )

    def _refuse(self) -> NoReturn:
        raise inherited_directory(self._root)
