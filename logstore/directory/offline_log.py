"""One log of a root, or one that stands alone, opened to be repaired while no broker works on it."""

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from epoch.filesystem import REAL, FileSystem
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, take_clean_shutdown
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, OFFSET_CHECKPOINTS, OffsetCheckpoint
from logstore.log.log import Log
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class OfflineLog:
    """A log, and the directory whose checkpoint files speak of it: they never claim more than the log holds."""

    log: Log
    home: Path
    """The root, or the log's own directory where it stands alone."""
    filesystem: FileSystem

    @classmethod
    @contextmanager
    def open(
        cls,
        partition: PartitionDirectory,
        *,
        keeps_high_watermark: bool = False,
        filesystem: FileSystem = REAL,
        progress: Callable[[int], object] = lambda _: None,
    ) -> Iterator[Self]:
        """Open the log, recovering it where needed; close it in the end, and lower what the checkpoint files claim.

        The caller holds the locks of the directory and of its root. What says that the broker stopped in order is gone
        meanwhile: a crash midway is followed by a recovery. Where it `keeps_high_watermark`, only `truncate_to` lowers
        that: beyond a log's end it is the last trace of records that the log has lost. Raises CorruptCheckpointError,
        before anything is changed, where a checkpoint file cannot be parsed, and what `Log.open` raises.
        """
        ensure_checkpoints_parse(partition)
        home = _home(partition)
        was_closed = (home / CLEAN_SHUTDOWN_NAME).exists()
        stopped = take_clean_shutdown(home, filesystem)
        with Log.open(
            partition.path,
            checkpoints=partition.checkpoints,
            replicated=True,
            filesystem=filesystem,
            progress=progress,
        ) as log:
            yield cls(log, home, filesystem)
        kept = {HIGH_WATERMARK_CHECKPOINT} if keeps_high_watermark else frozenset[str]()
        lower_checkpoints(home, log.topic_partition, log.log_end_offset, filesystem, kept=kept)
        if was_closed:
            stopped.write(home / CLEAN_SHUTDOWN_NAME, filesystem)

    def truncate_to(self, offset: int) -> None:
        """Cut the log, once no checkpoint file claims more: a crash between leaves nothing that contradicts the log."""
        lower_checkpoints(self.home, self.log.topic_partition, offset, self.filesystem)
        self.log.truncate_to(offset)


def ensure_checkpoints_parse(partition: PartitionDirectory) -> None:
    """Raise CorruptCheckpointError where a checkpoint file of the log's home cannot be parsed, and OSError."""
    _read_checkpoints(_home(partition))


def lower_checkpoints(
    home: Path,
    partition: TopicPartition,
    log_end_offset: int,
    filesystem: FileSystem = REAL,
    *,
    kept: Container[str] = (),
) -> None:
    """Lower the checkpoint files' entries in `home` to a partition's log end offset; nothing is ever raised.

    The files `kept`, by their names, are left as they are.
    Raises CorruptCheckpointError and OSError.
    """
    for path, checkpoint in _read_checkpoints(home).items():
        if checkpoint.get(partition, 0) > log_end_offset and path.name not in kept:
            checkpoint[partition] = log_end_offset
            checkpoint.write(path, filesystem)


def _home(partition: PartitionDirectory) -> Path:
    return partition.path if partition.own_checkpoints is not None else partition.path.parent


def _read_checkpoints(home: Path) -> dict[Path, OffsetCheckpoint]:
    """Read the files that are there; a link could lead anywhere, and Kafka never makes one here."""
    paths = [home / name for name in OFFSET_CHECKPOINTS]
    return {path: OffsetCheckpoint.read(path) for path in paths if path.is_file() and not path.is_symlink()}
