"""Takes partitions out of a log directory: deleted, or set aside."""

from pathlib import Path

from epoch.base.resource_limits import is_passing
from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.checkpoint_writer import CheckpointWriter
from logstore.directory.lifecycle.deleted_partitions import DeletedPartitions
from logstore.directory.lifecycle.marked_name import marked_name
from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.directory.state.partitions import Partitions
from logstore.directory.upkeep import Upkeep
from logstore.topic_partition import DirectoryMark, TopicPartition


class PartitionDeletion:
    """Renames a partition's directory, which is removed later or left to who looks after it."""

    def __init__(
        self,
        environment: DirectoryEnvironment,
        partitions: Partitions,
        deleted: DeletedPartitions,
        upkeep: Upkeep,
        checkpoints: CheckpointFiles,
        writer: CheckpointWriter,
    ) -> None:
        """Create a deletion that moves partitions from `partitions` to `deleted`."""
        self._environment = environment
        self._partitions = partitions
        self._deleted = deleted
        self._upkeep = upkeep
        self._checkpoints = checkpoints
        self._writer = writer

    def delete(self, partition: TopicPartition) -> None:
        """Delete a partition whose log is closed; the next call goes on where this is broken off. Raises OSError."""
        environment = self._environment
        due_ms = environment.clock() + environment.config_of(partition).file_delete_delay_ms
        path = environment.root / str(partition)
        if path.exists():
            self._deleted.rename(path, due_ms)
        self._forget(partition)

    def set_aside(self, partition: TopicPartition) -> Path:
        """Mark a partition whose log is closed as stray; return its new path. Raises OSError."""
        root, filesystem = self._environment.root, self._environment.filesystem
        path = root / marked_name(str(partition), DirectoryMark.STRAY)
        filesystem.rename(root / str(partition), path)
        filesystem.fsync_directory(root)
        self._partitions.set_aside[path.name] = DirectoryMark.STRAY
        self._forget(partition)
        return path

    def _forget(self, partition: TopicPartition) -> None:
        del self._partitions.logs[partition]
        self._upkeep.forget(partition)
        self._checkpoints.forget(partition)
        try:
            self._writer.write_recovery_points()
        except OSError as error:
            # Written when that is due next, and before there is such a partition again.
            if not is_passing(error):
                raise
