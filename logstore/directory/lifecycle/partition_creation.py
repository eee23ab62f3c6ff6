"""Creates partitions of a log directory."""

import os
from collections.abc import Collection, Mapping
from typing import Final
from uuid import UUID

from logstore.awaited_threads import AwaitedThreads
from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.checkpoint_writer import CheckpointWriter
from logstore.directory.log_opener import LogOpener
from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.directory.state.disk_watch import DiskWatch
from logstore.directory.state.partitions import Partitions
from logstore.errors import InvalidDirectoryNameError, PartitionExistsError
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.topic_partition import TopicPartition, parse_directory_name

_AT_ONCE: Final = 32
"""Threads that wait for the disk."""


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
        self.begun: Final[set[TopicPartition]] = set()
        """Those that are being made, or whose making was broken off: their directories may be there."""

    def create(self, partition: TopicPartition, topic_id: UUID | None) -> Log:
        """Create a partition and open its empty log.

        Raises InvalidDirectoryNameError, PartitionExistsError, OSError.
        """
        self._ensure_new(partition)
        with self._disk.watched():
            self._begin([partition])
            return self._open(partition, topic_id)

    def create_many(self, topic_ids: Mapping[TopicPartition, UUID | None]) -> None:
        """Create partitions in the time that a disk takes for a few. Raises what keeps one of them from being made.

        That leaves out some of the others, too; the next call goes on with them.
        """
        for partition in topic_ids:
            self._ensure_new(partition)
        with self._disk.watched():
            self._begin(topic_ids)
            with AwaitedThreads(min(len(topic_ids), _AT_ONCE) or 1) as threads:
                opened = [threads.submit(self._open, partition, topic_id) for partition, topic_id in topic_ids.items()]
            for each in opened:
                each.result()

    def _ensure_new(self, partition: TopicPartition) -> None:
        if parse_directory_name(str(partition)).topic_partition != partition:
            raise InvalidDirectoryNameError(
                f"{partition!r} is no partition", file=self._root, advice="name a topic, and a number from 0 on"
            )
        path = self._root / str(partition)
        if partition in self._partitions.logs or (os.path.lexists(path) and partition not in self.begun):
            raise PartitionExistsError(f"the partition {partition} already exists", file=path)

    def _begin(self, partitions: Collection[TopicPartition]) -> None:
        """Make the directories. Whatever breaks this off, the next call goes on with it."""
        spoken_of = [each for each in partitions if self._checkpoints.speak_of(each)]
        if spoken_of:
            # Of those that were deleted or set aside: after a crash that would be taken for what the new ones hold.
            for partition in spoken_of:
                self._checkpoints.forget(partition)
            self._writer.write_recovery_points()
            self._writer.write_high_watermarks()
        for partition in partitions:
            self.begun.add(partition)
            path = self._root / str(partition)
            if not path.exists():
                self._filesystem.mkdir(path)
        self._filesystem.fsync_directory(self._root)

    def _open(self, partition: TopicPartition, topic_id: UUID | None) -> Log:
        if topic_id is not None:
            path = self._root / str(partition) / PARTITION_METADATA_NAME
            PartitionMetadata(topic_id).write(path, self._filesystem)
        log = self._opener.open(partition, PartitionCheckpoints(clean_shutdown=True))
        self._partitions.logs[partition] = log
        self.begun.discard(partition)
        return log
