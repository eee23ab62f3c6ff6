"""The end of a log directory: in order, or as if the process had died."""

from collections.abc import Callable
from functools import partial

from logstore.closing import do_all
from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.directory.state.partitions import Partitions
from logstore.errors import LogPoisonedError, LogStoreError
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.directory_lock import DirectoryLock
from logstore.log.log import Log


class DirectoryClosing:
    """Closes the logs, and lets go of them and of the root's lock; the caller holds the directory's lock."""

    def __init__(
        self,
        environment: DirectoryEnvironment,
        lock: DirectoryLock,
        partitions: Partitions,
        checkpoints: CheckpointFiles,
    ) -> None:
        """Close nothing yet."""
        self._environment = environment
        self._root = environment.root
        self._lock = lock
        self._partitions = partitions
        self._checkpoints = checkpoints

    def close_in_order(self, broker_epoch: int) -> None:
        """Close the logs, write the checkpoints and the clean-shutdown file. Raises OSError, NotClosedError."""
        logs = self._partitions.open_logs
        steps: list[Callable[[], object]] = [
            *(partial(close_or_abandon, log) for log in logs.values()),
            # Only now: those of only copies follow what closing has flushed.
            lambda: self._checkpoints.write_high_watermarks(logs),
            lambda: self._checkpoints.write_recovery_points(logs),
        ]
        do_all(steps, f"the logs in {self._root}")
        is_complete = all(log.is_complete for log in logs.values())
        if is_complete and not self._partitions.unreadable and not self._partitions.may_be_torn:
            mark, environment = CleanShutdown(broker_epoch), self._environment
            environment.insist(lambda: mark.write(self._root / CLEAN_SHUTDOWN_NAME, environment.filesystem))
        self._partitions.let_go()

    def let_go(self) -> None:
        """Abandon the logs that are open yet, and release the lock."""
        try:
            do_all([log.abandon for log in self._partitions.open_logs.values()], f"the logs in {self._root}")
        except (OSError, LogStoreError):
            self._release()
            raise
        # Not where this is broken off: logs that are open yet are the lock's to guard, and the next call goes on.
        self._release()

    def _release(self) -> None:
        self._partitions.let_go()
        self._lock.release()


def close_or_abandon(log: Log) -> None:
    """Close a log in order, unless it is poisoned. Raises OSError."""
    try:
        log.close()
    except LogPoisonedError:
        log.abandon()  # who broke it was told
