"""Opens all logs of a root as its directory is opened (Kafka: LogManager.loadLogs)."""

import os
from collections.abc import Callable
from pathlib import Path

from epoch.base.resource_limits import ResourceLimitError
from logstore.awaited_threads import AwaitedThreads
from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.lifecycle.deleted_partitions import DeletedPartitions
from logstore.directory.log_opener import LogOpener
from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.directory.state.partitions import Partitions
from logstore.errors import LogStoreError, NotALogDirectoryError, linked_directory
from logstore.file_name import FileKind, parse_file_name
from logstore.files.directory_lock import DirectoryLock
from logstore.files.own_checkpoints import OwnCheckpoints
from logstore.files.root_checkpoints import PartitionCheckpoints, RootCheckpoints
from logstore.log.log import Log
from logstore.offline.offline_log_directory import is_live_partitions
from logstore.recovery.damage_policy import Damage
from logstore.recovery.segment_walk import OnBytes
from logstore.topic_partition import (
    METADATA_TOPIC,
    DirectoryMark,
    TopicPartition,
    is_partition_directory_name,
    parse_directory_name,
)


class RootLoader:
    """Finds the partitions of a root and opens the live ones."""

    def __init__(
        self,
        environment: DirectoryEnvironment,
        partitions: Partitions,
        checkpoints: CheckpointFiles,
        deleted: DeletedPartitions,
        opener: LogOpener,
    ) -> None:
        """Put into `partitions` and `deleted` what is found."""
        self._environment = environment
        self._root = environment.root
        self._partitions = partitions
        self._checkpoints = checkpoints
        self._deleted = deleted
        self._opener = opener
        self._adopted: dict[TopicPartition, OwnCheckpoints] = {}
        """Of partitions that stood alone so far."""

    def load(self, known: RootCheckpoints, progress: OnBytes) -> None:
        """Open all logs, of which the checkpoint files say what is `known`: in threads after an unclean stop.

        Raises OSError where the disk fails.
        """
        self._pass_over_links()
        live = self._sort_out()
        # Nobody has recovered those. Strays were closed before they were set aside.
        has_copies = DirectoryMark.FUTURE in self._partitions.set_aside.values()
        self._partitions.may_be_torn = has_copies and not known.clean_shutdown
        if known.clean_shutdown:
            for partition in live:
                self._load_one(partition, known, progress)
        else:
            with AwaitedThreads(self._environment.settings.num_recovery_threads_per_data_dir) as threads:
                loads = [threads.submit(self._load_one, each, known, progress) for each in live]
                for future in loads:
                    future.result()

    def adopt(self, write_checkpoints: Callable[[], None]) -> None:
        """Move the checkpoints of partitions that stood alone into the root's files: their own would grow stale."""
        if self._adopted:
            write_checkpoints()
            for partition in self._adopted.keys() & self._partitions.logs.keys():
                self._adopted[partition].remove()
            self._adopted.clear()

    def open(
        self,
        partition: TopicPartition,
        known: RootCheckpoints,
        progress: OnBytes = lambda _: None,
        *,
        damage: Damage,
        replicated: bool | None = None,
        log_start_offset: int = 0,
    ) -> Log:
        """Open one log, which begins at `log_start_offset` or later.

        Raises what `LogOpener.open` raises, and DirectoryLockedError where it is open by itself.
        """
        DirectoryLock.ensure_free(self._root / str(partition))
        said = self._known_of(partition, known)
        if log_start_offset:
            said = said._replace(log_start_offset=max(said.log_start_offset or 0, log_start_offset))
        check_all = self._environment.check_all
        log = self._opener.open(partition, said, progress, damage=damage, replicated=replicated, check_all=check_all)
        self._partitions.logs[partition] = log
        return log

    def _pass_over_links(self) -> None:
        """Keep what the checkpoint files say of partitions that are elsewhere: none is opened through a link."""
        with os.scandir(self._root) as entries:
            links = [entry.name for entry in entries if entry.is_symlink() and is_live_partitions(entry.name)]
        for name in links:
            partition = parse_directory_name(name).topic_partition
            if partition.topic != METADATA_TOPIC:
                self._checkpoints.keep(partition)
                self._partitions.unreadable[partition] = linked_directory(self._root / name)

    def _sort_out(self) -> list[TopicPartition]:
        """Note which directories are to be removed and which are set aside; return the live partitions."""
        live = []
        for name in self._directory_names():
            parsed = parse_directory_name(name)
            if parsed.mark is DirectoryMark.DELETE:
                self._deleted.add(self._root / name, self._environment.clock())
            elif parsed.mark is not DirectoryMark.NONE:
                self._partitions.set_aside[name] = parsed.mark
                self._checkpoints.keep(parsed.topic_partition)
            elif parsed.topic_partition.topic != METADATA_TOPIC:
                live.append(parsed.topic_partition)
        return live

    def _directory_names(self) -> list[str]:
        with os.scandir(self._root) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        return sorted(filter(is_partition_directory_name, names))

    def _load_one(self, partition: TopicPartition, known: RootCheckpoints, progress: OnBytes) -> None:
        try:
            self.open(partition, known, progress, damage=self._environment.damage_of(partition))
        except ResourceLimitError:
            raise
        except LogStoreError as error:
            self._partitions.unreadable[partition] = error
            self._checkpoints.keep(partition)

    def _known_of(self, partition: TopicPartition, checkpoints: RootCheckpoints) -> PartitionCheckpoints:
        """Return what the root's files say of a partition; of one that stood alone so far, what its own files say."""
        known = checkpoints.of(partition)
        if known.mentioned or known.unread:
            return known
        own = OwnCheckpoints(self._root / str(partition), partition, self._environment.filesystem)
        said = own.read()
        if not said.mentioned:
            return known
        # Even in a root that was closed in order: its partition may not have been.
        own.mark_open()
        self._adopted[partition] = own
        return said


def ensure_holds_no_segments(root: Path) -> None:
    """Raise NotALogDirectoryError for a log's own directory: its offsets would be overwritten with those of a root."""
    for path in root.glob("*.log"):
        if parse_file_name(path.name).kind is FileKind.LOG:
            raise NotALogDirectoryError(
                "this is the directory of a partition, not a root: it holds segments",
                file=root,
                advice="open it with Log.open, or name its parent",
            )
