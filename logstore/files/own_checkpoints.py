"""The checkpoints of a standalone log, kept in its own directory.

Kafka keeps such offsets for all logs of a root, in files at the root; `LogDirectory` does so. A log that is opened by
itself has files of the same names and formats beside its segments, where Kafka does not look.
"""

from pathlib import Path
from typing import Final

from epoch.filesystem import REAL, FileSystem
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown, take_clean_shutdown
from logstore.files.offset_checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from logstore.files.only_copy.space_reserve import RESERVE_NAME
from logstore.files.root_checkpoints import PartitionCheckpoints, RootCheckpoints
from logstore.topic_partition import TopicPartition

OWN_CHECKPOINTS: Final = frozenset(
    {
        HIGH_WATERMARK_CHECKPOINT,
        LOG_START_OFFSET_CHECKPOINT,
        RECOVERY_POINT_CHECKPOINT,
        CLEANER_OFFSET_CHECKPOINT,
        CLEAN_SHUTDOWN_NAME,
        RESERVE_NAME,
    }
)
"""The names of these files, and of what keeps space for them."""


class OwnCheckpoints:
    """The checkpoint files in one partition directory."""

    def __init__(self, directory: Path, topic_partition: TopicPartition, filesystem: FileSystem = REAL) -> None:
        """Keep them in `directory`."""
        self._directory = directory
        self._topic_partition = topic_partition
        self._filesystem = filesystem
        self._written: dict[str, int | None] = {}
        self.of_others: tuple[str, ...] = ()
        """The names of those that were read and speak of other logs only: the directory was renamed, or copied."""

    def read(self) -> PartitionCheckpoints:
        """Read what is there; a file that cannot be read counts as missing."""
        found = RootCheckpoints.read(self._directory)
        others = (name for name, offsets in found.offsets.items() if offsets and self._topic_partition not in offsets)
        self.of_others = tuple(others)
        known = found.of(self._topic_partition)
        self._written = {
            LOG_START_OFFSET_CHECKPOINT: known.log_start_offset,
            RECOVERY_POINT_CHECKPOINT: known.recovery_point,
            HIGH_WATERMARK_CHECKPOINT: known.high_watermark,
            CLEANER_OFFSET_CHECKPOINT: known.cleaner_offset,
        }
        return known

    def write(
        self, *, recovery_point: int, high_watermark: int, log_start_offset: int, cleaner_offset: int | None = None
    ) -> None:
        """Write those that have changed. Raises OSError."""
        if not self._written:
            self.read()
        self._write(LOG_START_OFFSET_CHECKPOINT, log_start_offset)
        self._write(RECOVERY_POINT_CHECKPOINT, recovery_point)
        self._write(HIGH_WATERMARK_CHECKPOINT, high_watermark)
        if cleaner_offset is not None:
            self._write(CLEANER_OFFSET_CHECKPOINT, cleaner_offset)

    def mark_closed(self) -> None:
        """Note that everything is flushed and closed. Raises OSError."""
        CleanShutdown().write(self._directory / CLEAN_SHUTDOWN_NAME, self._filesystem)

    def mark_open(self) -> None:
        """Note that a crash from now on needs recovery. Raises OSError."""
        take_clean_shutdown(self._directory, self._filesystem)

    def remove(self) -> None:
        """Remove the files, durably: the root's files replace them. Raises OSError."""
        for path in (self._directory / name for name in OWN_CHECKPOINTS):
            if path.exists():
                self._filesystem.unlink(path)
        self._filesystem.fsync_directory(self._directory)

    def _write(self, name: str, offset: int) -> None:
        if self._written.get(name) != offset:
            self._written[name] = None  # what breaks it off may come after the file is there
            OffsetCheckpoint({self._topic_partition: offset}).write(self._directory / name, self._filesystem)
            self._written[name] = offset
