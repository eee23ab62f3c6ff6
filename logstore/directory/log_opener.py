"""Opens the logs of one root."""

from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.log.log_observer import LogObserver
from logstore.log.observers.log_observers import LogObservers
from logstore.recovery.segment_walk import OnBytes
from logstore.segment.open_files import OpenFiles
from logstore.topic_partition import TopicPartition


class LogOpener:
    """Gives each log its configuration, and what all of a root share."""

    def __init__(self, environment: DirectoryEnvironment, checkpoints: CheckpointFiles) -> None:
        """Open nothing yet."""
        self._environment = environment
        self._checkpoints = checkpoints
        self._open_files = OpenFiles(environment.settings.max_open_files)

    def open(
        self,
        partition: TopicPartition,
        known: PartitionCheckpoints,
        progress: OnBytes = lambda _: None,
        *,
        name: str | None = None,
    ) -> Log:
        """Open a partition's log, of which so much is known; `name` is that of its directory where it has a mark.

        Raises as `Log.open` does.
        """
        environment = self._environment
        return Log.open(
            environment.root / (name or str(partition)),
            environment.config_of(partition),
            checkpoints=known,
            in_directory=True,
            filesystem=environment.filesystem,
            clock=environment.clock,
            observer=self._observer_of(partition),
            open_files=self._open_files,
            progress=progress,
        )

    def _observer_of(self, partition: TopicPartition) -> LogObserver | None:
        observer = self._environment.observer
        if not (self._checkpoints.is_cleaned(partition) or self._environment.config_of(partition).is_compacted):
            return observer
        return LogObservers(self._checkpoints, observer) if observer else self._checkpoints
