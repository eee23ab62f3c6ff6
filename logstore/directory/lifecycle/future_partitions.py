"""Copies that take the place of partitions of another root of the same broker (KIP-113)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

from epoch.base.resource_limits import ResourceLimitError, ensure_room
from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.checkpoint_writer import CheckpointWriter
from logstore.directory.lifecycle.deleted_partitions import DeletedPartitions
from logstore.directory.lifecycle.marked_name import marked_name
from logstore.directory.log_opener import LogOpener
from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.directory.state.directory_guard import DirectoryGuard
from logstore.directory.state.disk_watch import DiskWatch
from logstore.directory.state.partitions import Partitions
from logstore.errors import InvalidDirectoryNameError, LogStoreError, PartitionExistsError, UnknownPartitionError
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.files.root_checkpoints import PartitionCheckpoints, RootCheckpoints
from logstore.log.log import Log
from logstore.topic_partition import DirectoryMark, TopicPartition, parse_directory_name


class FuturePartitions:
    """The directories marked `-future` of one root. Methods raise OfflineDirectoryError, and OSError."""

    def __init__(
        self,
        environment: DirectoryEnvironment,
        partitions: Partitions,
        disk: DiskWatch,
        guard: DirectoryGuard,
        deleted: DeletedPartitions,
        checkpoints: CheckpointFiles,
        writer: CheckpointWriter,
        opener: LogOpener,
    ) -> None:
        """Move them between `set_aside`, `futures` and `logs` of `partitions`."""
        self._environment = environment
        self._partitions = partitions
        self._disk = disk
        self._guard = guard
        self._deleted = deleted
        self._checkpoints = checkpoints
        self._writer = writer
        self._opener = opener

    @property
    def logs(self) -> Mapping[TopicPartition, Log]:
        """The copies that are open."""
        return MappingProxyType(self._partitions.futures)

    @property
    def found(self) -> dict[TopicPartition, Path]:
        """The directories of copies that are not open, as an earlier start has left them."""
        root = self._environment.root
        return {parse_directory_name(name).topic_partition: root / name for name in self._names()}

    def open(self, partition: TopicPartition, topic_id: UUID) -> Log:
        """Return the copy of a topic's partition: the one that an earlier start has left, recovered, or an empty one.

        What cannot be recovered, or is of another topic, is removed. Raises PartitionExistsError where the root holds
        the partition itself, and InvalidDirectoryNameError for a topic whose name leaves no room for the mark.
        """
        with self._changing():
            known = self._partitions.futures.get(partition)
            if known is not None:
                return known
            if partition in self._partitions.logs or partition in self._partitions.unreadable:
                raise PartitionExistsError(f"the partition {partition} is here already", file=self._environment.root)
            log = self._opened(partition, topic_id) or self._made(partition, topic_id)
            self._partitions.futures[partition] = log
            return log

    def close(self, partition: TopicPartition) -> None:
        """Close a copy that cannot be written any more; `open` recovers it."""
        with self._changing():
            self._let_go(partition)

    def delete(self, partition: TopicPartition) -> None:
        """Give a copy up, whether it is open or not; its directory is removed later. There may be none."""
        with self._changing():
            log = self._partitions.futures.pop(partition, None)
            if log is not None:
                log.abandon()
                self._remove(log.directory, partition)
            for name in self._names(partition):
                self._remove(self._environment.root / name, partition)

    def promote(self, partition: TopicPartition) -> Log:
        """Make a copy the root's log of its partition, with all of it on stable storage.

        What fails leaves it a copy, which is to be opened again; a root where it cannot be one again is offline.
        Raises UnknownPartitionError where no copy is open, and PartitionExistsError where there is such a log.
        """
        with self._changing():
            future = self._partitions.futures.get(partition)
            root = self._environment.root
            if future is None:
                raise UnknownPartitionError(f"there is no copy of {partition}", file=root, advice="open it first")
            if partition in self._partitions.logs:
                raise PartitionExistsError(f"the partition {partition} is here already", file=root)
            ensure_room(root)
            try:
                future.close()
                # While it still is a copy: whatever breaks this off, the files say where it begins and ends.
                self._writer.write_recovery_points()
                self._writer.write_high_watermarks()
                known = future.give_up()._replace(clean_shutdown=True)
                self._environment.filesystem.rename(future.directory, root / str(partition))
            except BaseException:
                self._let_go(partition)
                raise
            try:
                self._environment.filesystem.fsync_directory(root)
                log = self._opener.open(partition, known)
            except BaseException:
                self._take_back(partition, future.directory)
                raise
            del self._partitions.futures[partition]
            self._partitions.logs[partition] = log
            return log

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self._guard.ensure_not_nested()
        with self._guard.lock, self._disk.watched():
            self._guard.ensure_online()
            yield

    def _take_back(self, partition: TopicPartition, path: Path) -> None:
        """Make what was renamed already a copy again: no log of that name is known, but the next start would load it.

        Where that fails nothing of the root is served any more, so that nobody counts on the partition's other log.
        """
        root = self._environment.root
        try:
            self._environment.filesystem.rename(root / str(partition), path)
            self._environment.filesystem.fsync_directory(root)
        except OSError as error:
            self._disk.fail(error)
            raise
        self._let_go(partition)

    def _let_go(self, partition: TopicPartition) -> None:
        log = self._partitions.futures.pop(partition, None)
        if log is not None:
            log.abandon()
            self._checkpoints.keep(partition)
            self._partitions.set_aside[log.directory.name] = DirectoryMark.FUTURE

    def _names(self, partition: TopicPartition | None = None) -> list[str]:
        named = [name for name, mark in self._partitions.set_aside.items() if mark is DirectoryMark.FUTURE]
        return [name for name in named if partition in (None, parse_directory_name(name).topic_partition)]

    def _opened(self, partition: TopicPartition, topic_id: UUID) -> Log | None:
        """Open what an earlier start has left of a topic's partition, if it can be."""
        log: Log | None = None
        for name in self._names(partition):
            path = self._environment.root / name
            try:
                held = PartitionMetadata.of(path)
                if log is None and held is not None and held.topic_id == topic_id:
                    known = RootCheckpoints.read(self._environment.root).of(partition)
                    log = self._opener.open(partition, known._replace(clean_shutdown=False), name=name)
            except ResourceLimitError:
                raise
            except LogStoreError:
                pass  # the log that it is a copy of is there
            if log is None or log.directory != path:
                self._remove(path, partition)
            self._is_seen_to(name)
        return log

    def _made(self, partition: TopicPartition, topic_id: UUID) -> Log:
        """Make an empty one."""
        root, filesystem = self._environment.root, self._environment.filesystem
        name = marked_name(str(partition), DirectoryMark.FUTURE)
        if parse_directory_name(name).topic_partition != partition:
            raise InvalidDirectoryNameError(f"{partition} is too long a name for a copy", file=root)
        self._forget(partition)
        filesystem.mkdir(root / name)
        filesystem.fsync_directory(root)
        PartitionMetadata(topic_id).write(root / name / PARTITION_METADATA_NAME, filesystem)
        return self._opener.open(partition, PartitionCheckpoints(clean_shutdown=True), name=name)

    def _remove(self, path: Path, partition: TopicPartition) -> None:
        due_ms = self._environment.clock() + self._environment.config_of(partition).file_delete_delay_ms
        self._deleted.rename(path, due_ms, name=str(partition))
        self._is_seen_to(path.name)
        self._forget(partition)

    def _forget(self, partition: TopicPartition) -> None:
        """Remove a partition that is not here from the checkpoint files, before it is created again."""
        self._checkpoints.forget(partition)
        if self._checkpoints.speak_of(partition):
            self._writer.write_recovery_points()
            self._writer.write_high_watermarks()

    def _is_seen_to(self, name: str) -> None:
        self._partitions.set_aside.pop(name, None)
        if not self._names():
            self._partitions.may_be_torn = False
