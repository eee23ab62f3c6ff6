"""The offset checkpoint files of a root that is open (Kafka: LogManager's checkpoint methods, LogCleanerManager's)."""

from collections.abc import Mapping
from typing import Final

from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.files.offset_checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.log.log import Log
from logstore.topic_partition import TopicPartition

_OF_OPEN_LOGS: Final = (RECOVERY_POINT_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, HIGH_WATERMARK_CHECKPOINT)


class CheckpointFiles:
    """Written from the open logs; entries of partitions that are not open here are kept."""

    def __init__(self, environment: DirectoryEnvironment) -> None:
        """Write nothing yet; see `read`."""
        self._environment = environment
        self._root = environment.root
        self._found: dict[str, OffsetCheckpoint] = {}
        self._others: set[TopicPartition] = set()
        self._cleaned = OffsetCheckpoint()
        """How far each log was compacted, of which that is known: those that are not here are not forgotten."""
        self._is_bare = False
        """Whether files were missing or damaged, and nobody has said since what the root lacks."""

    def read(self) -> RootCheckpoints:
        """Read all files; one that cannot be read counts as empty."""
        checkpoints = RootCheckpoints.read(self._root)
        self._found = dict(checkpoints.offsets)
        self._cleaned = OffsetCheckpoint(self._found[CLEANER_OFFSET_CHECKPOINT])
        self._is_bare = not checkpoints.are_as_left
        return checkpoints

    def keep(self, partition: TopicPartition) -> None:
        """Keep the entries of a partition that is not open here."""
        self._others.add(partition)

    def take_up(self, partition: TopicPartition) -> None:
        """Write a partition's entries from its log from now on, as that is open."""
        self._others.discard(partition)

    def speak_of(self, partition: TopicPartition) -> bool:
        """Whether the files say how far a log reaches, as far as is known from reading and writing them."""
        return any(partition in self._found.get(name, ()) for name in _OF_OPEN_LOGS)

    def forget(self, partition: TopicPartition) -> None:
        """Note that a partition is gone: one that has had logs need not be asked what it lacks."""
        self._is_bare = False
        self._cleaned.pop(partition, None)
        self._others.discard(partition)

    def settle(self) -> None:
        """Know that what the root lacks is kept elsewhere, if it lacks anything."""
        self._is_bare = False

    def write_recovery_points(self, logs: Mapping[TopicPartition, Log]) -> None:
        """Write up to where each log is flushed, where it starts, and what has changed for the cleaner, durably.

        A root that lacked files and has no logs goes on to lack them until that is settled: with them it would seem to
        have lost nothing. Raises OSError.
        """
        if self._is_bare and not logs and not self._others:
            return
        self._is_bare = False
        self._write(RECOVERY_POINT_CHECKPOINT, {each: log.end_of_flushed for each, log in logs.items()})
        starts = {each: log.log_start_offset for each, log in logs.items() if _tells_start(log)}
        self._write(LOG_START_OFFSET_CHECKPOINT, starts)
        offsets = {each: log.cleaner_offset for each, log in logs.items()}
        self._cleaned |= {each: offset for each, offset in offsets.items() if offset is not None}
        if self._cleaned != self._found.get(CLEANER_OFFSET_CHECKPOINT, OffsetCheckpoint()):
            self._put(CLEANER_OFFSET_CHECKPOINT, OffsetCheckpoint(self._cleaned))

    def write_high_watermarks(self, logs: Mapping[TopicPartition, Log]) -> None:
        """Write the high watermarks, durably. Raises OSError."""
        self._write(HIGH_WATERMARK_CHECKPOINT, {each: log.high_watermark for each, log in logs.items()})

    def _write(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        found = self._found.get(name, OffsetCheckpoint())
        kept = {partition: found[partition] for partition in self._others & found.keys()}
        self._put(name, OffsetCheckpoint(kept | offsets))

    def _put(self, name: str, checkpoint: OffsetCheckpoint) -> None:
        environment = self._environment
        environment.insist(lambda: checkpoint.write(self._root / name, environment.filesystem))
        self._found[name] = checkpoint


def _tells_start(log: Log) -> bool:
    """Whether a log's start is written, as by Kafka: the others start where their first segment does."""
    return bool(log.config.remote_storage_enable) or log.log_start_offset != log.segments[0].base_offset
