"""Opens the logs of one root."""

from collections.abc import Callable
from pathlib import Path

from epoch.filesystem import FileSystem
from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.log.log_observer import LogObserver, LogObservers
from logstore.log_config import LogConfig
from logstore.recovery.segment_recovery import OnBytes
from logstore.segment.open_files import OpenFiles
from logstore.topic_partition import TopicPartition


class LogOpener:
    """Gives each log its configuration, and what all of a root share."""

    def __init__(
        self,
        root: Path,
        checkpoints: CheckpointFiles,
        *,
        config_of: Callable[[TopicPartition], LogConfig],
        filesystem: FileSystem,
        clock: Callable[[], int],
        observer: LogObserver | None,
        open_files: OpenFiles,
    ) -> None:
        """Open nothing yet."""
        self._root = root
        self._checkpoints = checkpoints
        self._config_of = config_of
        self._filesystem = filesystem
        self._clock = clock
        self._observer = observer
        self._open_files = open_files

    def open(self, partition: TopicPartition, known: PartitionCheckpoints, progress: OnBytes = lambda _: None) -> Log:
        """Open a partition's log, of which so much is known. Raises as `Log.open` does."""
        return Log.open(
            self._root / str(partition),
            self._config_of(partition),
            checkpoints=known,
            in_directory=True,
            filesystem=self._filesystem,
            clock=self._clock,
            observer=self._observer_of(partition),
            open_files=self._open_files,
            progress=progress,
        )

    def _observer_of(self, partition: TopicPartition) -> LogObserver | None:
        if not self._checkpoints.is_cleaned(partition):
            return self._observer
        return LogObservers(self._checkpoints, self._observer) if self._observer else self._checkpoints
