"""The thread that compacts a broker's logs (Kafka: LogCleaner.CleanerThread)."""

import logging
from typing import ClassVar, Final

from logstore.closing import do_all
from logstore.directory.log_directories import LogDirectories
from logstore.errors import LogStoreError
from replication.worker_thread import WorkerThread

_log: Final = logging.getLogger(__name__)


class CleanerThread(WorkerThread):
    """Compacts what is due in each log.dir that is online, whether the broker leads there or follows, and rests.

    Damage, and a disk without space, are said each time; other logs are compacted all the same.
    """

    PASSING: ClassVar[tuple[type[Exception], ...]] = (OSError, LogStoreError)

    def __init__(self, directories: LogDirectories) -> None:
        """Prepare the thread. It rests for as long as the directories' settings say (log.cleaner.backoff.ms)."""
        super().__init__("broker-cleaner")
        self._directories: Final = directories
        self._rest_seconds: Final = min(root.settings.log_cleaner_backoff_ms for root in directories.roots) / 1_000

    def _round(self) -> None:
        do_all([root.compact for root in self._directories.roots if root.failure is None], "the log directories")
        self._stopped.wait(self._rest_seconds)

    def _lost(self, error: Exception) -> None:
        if not self.stopped:
            _log.error("Not all logs that are due could be compacted: %s", error)
            self._stopped.wait(self._rest_seconds)
