"""What the checkpoint files of a log.dirs root say about its partitions."""

import os
from collections.abc import Mapping
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple, Self

from logstore.errors import LogStoreError
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.offset_checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    OFFSET_CHECKPOINTS,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from logstore.topic_partition import TopicPartition


class PartitionCheckpoints(NamedTuple):
    """What a root's checkpoint files say about one partition; None where they do not mention it."""

    recovery_point: int | None = None
    high_watermark: int | None = None
    log_start_offset: int | None = None
    cleaner_offset: int | None = None
    clean_shutdown: bool = False
    """Whether the broker stopped in order, so that nothing needs recovery."""
    unread: frozenset[str] = frozenset()
    """The files that could not be read or parsed: what they say of the partition is unknown."""

    @property
    def mentioned(self) -> bool:
        """Whether any of the files says something about the partition."""
        offsets = self.recovery_point, self.high_watermark, self.log_start_offset, self.cleaner_offset
        return any(offset is not None for offset in offsets)


class RootCheckpoints:
    """The checkpoint files of one root. A missing file is an empty one; one that cannot be read is in `errors`."""

    __slots__ = ("clean_shutdown", "errors", "missing", "not_files", "offsets")

    def __init__(
        self,
        offsets: Mapping[str, OffsetCheckpoint] | None = None,
        clean_shutdown: bool = False,
        errors: Mapping[str, LogStoreError | OSError] | None = None,
        not_files: frozenset[str] = frozenset(),
        missing: frozenset[str] = frozenset(),
    ) -> None:
        """Create what files say; see `read`."""
        self.offsets: Mapping[str, OffsetCheckpoint] = offsets or {}
        """By file name."""
        self.clean_shutdown: bool = clean_shutdown
        self.errors: Mapping[str, LogStoreError | OSError] = errors or {}
        """Why a file could not be read, by file name."""
        self.not_files: frozenset[str] = not_files
        """Names under which something else stands than a regular file: nothing is read of it, nor through a link."""
        self.missing: frozenset[str] = missing
        """Names under which nothing stands."""

    @classmethod
    def read(cls, root: Path) -> Self:
        """Read the checkpoint files in `root`, if any."""
        offsets: dict[str, OffsetCheckpoint] = {}
        errors: dict[str, LogStoreError | OSError] = {}
        not_files = frozenset(name for name in (*OFFSET_CHECKPOINTS, CLEAN_SHUTDOWN_NAME) if _is_no_file(root / name))
        for name in OFFSET_CHECKPOINTS:
            path = root / name
            try:
                offsets[name] = OffsetCheckpoint.read(path) if _is_own_file(path) else OffsetCheckpoint()
            except (LogStoreError, OSError) as error:
                offsets[name], errors[name] = OffsetCheckpoint(), error
        missing = frozenset(name for name in OFFSET_CHECKPOINTS if not (root / name).exists())
        return cls(offsets, _is_own_file(root / CLEAN_SHUTDOWN_NAME), errors, not_files, missing)

    @property
    def are_as_left(self) -> bool:
        """Whether no file is damaged, and that of the recovery points is there, which each stop in order writes."""
        return not (self.errors or self.not_files or RECOVERY_POINT_CHECKPOINT in self.missing)

    def of(self, topic_partition: TopicPartition) -> PartitionCheckpoints:
        """Pick out what is said about one partition."""
        return PartitionCheckpoints(
            recovery_point=self._offset(RECOVERY_POINT_CHECKPOINT, topic_partition),
            high_watermark=self._offset(HIGH_WATERMARK_CHECKPOINT, topic_partition),
            log_start_offset=self._offset(LOG_START_OFFSET_CHECKPOINT, topic_partition),
            cleaner_offset=self._offset(CLEANER_OFFSET_CHECKPOINT, topic_partition),
            clean_shutdown=self.clean_shutdown,
            unread=self.not_files.union(self.errors),
        )

    def mentions(self, topic_partition: TopicPartition) -> bool:
        """Return whether any of the files mentions a partition."""
        return any(topic_partition in checkpoint for checkpoint in self.offsets.values())

    def partitions(self) -> set[TopicPartition]:
        """Return all partitions that any of the files mentions."""
        return {partition for checkpoint in self.offsets.values() for partition in checkpoint}

    def _offset(self, name: str, topic_partition: TopicPartition) -> int | None:
        return self.offsets.get(name, OffsetCheckpoint()).get(topic_partition)


def _is_own_file(path: Path) -> bool:
    # A link could lead anywhere; Kafka never makes one here.
    return path.is_file() and not path.is_symlink()


def _is_no_file(path: Path) -> bool:
    try:
        return not S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
