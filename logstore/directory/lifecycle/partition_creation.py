"""Creates partitions of a log directory."""

import os
from uuid import UUID

from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.checkpoint_writer import CheckpointWriter
from logstore.directory.log_opener import LogOpener
from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.directory.state.disk_watch import DiskWatch
from logstore.directory.state.partitions import Partitions
from logstore.errors import PartitionExistsError
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.topic_partition import TopicPartition


class PartitionCreation:
    """Makes a partition's directory and opens its log; goes on with what was broken off."""

    def __init__(
        self,
        environment: DirectoryEnvironment,
        partitions: Partitions,
        disk: DiskWatch,
        checkpoints: CheckpointFiles,
        writer: CheckpointWriter,
        opener: LogOpener,
    ) -> None:
        """Put into `partitions` what is created."""
        self._root = environment.root
        self._filesystem = environment.filesystem
        self._partitions = partitions
        self._disk = disk
        self._checkpoints = checkpoints
        self._writer = writer
        self._opener = opener
        self._begun: set[TopicPartition] = set()
        """Those whose making may have been broken off."""

    def create(self, partition: TopicPartition, topic_id: UUID | None) -> Log:
        """Create a partition and open its empty log. Raises PartitionExistsError, OSError."""
        path = self._root / str(partition)
        if partition in self._partitions.logs or (os.path.lexists(path) and partition not in self._begun):
            raise PartitionExistsError(f"the partition {partition} already exists", file=path)
        with self._disk.watched():
            if self._checkpoints.speak_of(partition):
                # Of one that was deleted or set aside: after a crash that would be taken for what the new one holds.
                self._checkpoints.forget(partition)
                self._writer.write_recovery_points()
                self._writer.write_high_watermarks()
            # Whatever breaks this off, the next call goes on with it.
            self._begun.add(partition)
            if not path.exists():
                self._filesystem.mkdir(path)
            self._filesystem.fsync_directory(self._root)
            if topic_id is not None:
                PartitionMetadata(topic_id).write(path / PARTITION_METADATA_NAME, self._filesystem)
            log = self._opener.open(partition, PartitionCheckpoints(clean_shutdown=True))
        self._partitions.logs[partition] = log
        self._begun.discard(partition)
        return log
