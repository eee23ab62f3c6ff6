"""The thread that compacts a broker's logs (Kafka: LogCleaner.CleanerThread)."""

import logging
from typing import Final

from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from replication.cluster.worker_thread import WorkerThread

_log: Final = logging.getLogger(__name__)


class CleanerThread(WorkerThread):
    """Compacts what is due in each log.dir that is online, whether the broker leads there or follows, and rests.

    Whatever is wrong with a log is said each time; the others are compacted all the same, and the broker goes on.
    """

    def __init__(self, directories: LogDirectories) -> None:
        """Prepare the thread. It rests for as long as the directories' settings say (log.cleaner.backoff.ms)."""
        super().__init__("broker-cleaner")
        self._directories: Final = directories
        self._rest_seconds: Final = min(root.settings.log_cleaner_backoff_ms for root in directories.roots) / 1_000

    def _round(self) -> None:
        for root in self._directories.roots:
            if root.failure is None and not self.stopped:
                self._compact(root)
        self._stopped.wait(self._rest_seconds)

    def _compact(self, root: LogDirectory) -> None:
        try:
            root.compact()
        except Exception as error:  # noqa: BLE001  Kafka's goes on too, whatever it meets
            if not self.stopped:
                told = "; ".join([str(error) or repr(error), *getattr(error, "__notes__", ())])
                _log.error("Not all logs that are due in %s could be compacted: %s", root.root, told)
