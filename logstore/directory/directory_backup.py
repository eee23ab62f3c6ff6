"""A backup of all logs of one root, made while they are in use."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.directory.state.partitions import Partitions
from logstore.errors import LogClosedError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.backup_mark import BACKUP_MARK, BackupMark
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.directory_lock import LOCK_NAME
from logstore.files.offset_checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    OFFSET_CHECKPOINTS,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from logstore.log.backup.backup_place import BackupPlace, ensure_unwritten, remove
from logstore.log.backup.log_backup import LogBackup
from logstore.topic_partition import TopicPartition

_ROOT_FILES = (*OFFSET_CHECKPOINTS, META_PROPERTIES_NAME, CLEAN_SHUTDOWN_NAME, BACKUP_MARK, LOCK_NAME)


class DirectoryBackups:
    """Copies one log after the other; each is as it was at a moment of its own."""

    def __init__(self, environment: DirectoryEnvironment, partitions: Partitions) -> None:
        """Make none yet."""
        self._root = environment.root
        self._filesystem = environment.filesystem
        self._partitions = partitions

    def make(self, path: Path) -> Mapping[TopicPartition, LogBackup]:
        """Make or update the backup at `path`; see `LogDirectory.backup`."""
        with BackupPlace(path, self._root, self._filesystem) as place:
            _ensure_unwritten(path)
            made: dict[TopicPartition, LogBackup] = {}
            for partition in sorted(self._partitions.logs):
                copied = self._copy(partition, place.partial / str(partition), path / str(partition))
                if copied is not None:
                    made[partition] = copied
            self._complete(place.partial, made)
            place.complete()
        return {partition: replace(each, directory=path / str(partition)) for partition, each in made.items()}

    def _copy(self, partition: TopicPartition, target: Path, previous: Path) -> LogBackup | None:
        """Copy one log; None if the partition was deleted meanwhile."""
        while (log := self._partitions.logs.get(partition)) is not None:
            try:
                return log.copy_into(target, previous if previous.is_dir() else None)
            except (LogClosedError, FileNotFoundError):
                # It was deleted, or another has taken its place: see `LogDirectory.recover`.
                if self._partitions.logs.get(partition) is log:
                    raise
        return None

    def _complete(self, target: Path, made: Mapping[TopicPartition, LogBackup]) -> None:
        """Write the root's files, and remove what is not of this backup."""
        filesystem, wanted = self._filesystem, {*map(str, made), *_ROOT_FILES}
        for path in sorted(target.iterdir()):
            if path.name not in wanted:
                remove(path, filesystem)
        ends = {each: backup.log_end_offset for each, backup in made.items()}
        offsets = {
            RECOVERY_POINT_CHECKPOINT: ends,
            HIGH_WATERMARK_CHECKPOINT: {each: backup.high_watermark for each, backup in made.items()},
            LOG_START_OFFSET_CHECKPOINT: {each: backup.log_start_offset for each, backup in made.items()},
            CLEANER_OFFSET_CHECKPOINT: self._cleaned_below(ends),
        }
        for name, known in offsets.items():
            OffsetCheckpoint(known).write(target / name, filesystem)
        identity = self._root / META_PROPERTIES_NAME
        if identity.is_file():
            filesystem.write_atomically(target / META_PROPERTIES_NAME, identity.read_bytes())
        CleanShutdown().write(target / CLEAN_SHUTDOWN_NAME, filesystem)

    def _cleaned_below(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return how far each of these logs was compacted, at most up to its end."""
        logs = self._partitions.logs
        offsets = {each: logs[each].cleaner_offset for each in ends if each in logs}
        return {each: min(offset, ends[each]) for each, offset in offsets.items() if offset is not None}


def _ensure_unwritten(path: Path) -> None:
    """Raise FileExistsError where somebody has written to an earlier backup of the root: it would be lost."""
    for directory in sorted(path.iterdir()) if path.is_dir() else ():
        if directory.is_dir():
            if BackupMark.of(directory) is None:
                raise FileExistsError(
                    f"{directory} is no part of the backup {path}, where it lies: name another directory for the "
                    "backup, or move it away"
                )
            ensure_unwritten(directory)
