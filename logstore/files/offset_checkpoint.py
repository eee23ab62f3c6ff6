"""The offset checkpoints in a log.dirs root: one offset for each partition (Kafka: OffsetCheckpointFile)."""

from pathlib import Path
from typing import Final

from epoch.checkpoint import CheckpointRow, format_checkpoint, parse_checkpoint_lines, parse_number, read_checkpoint
from epoch.errors import CheckpointError
from epoch.filesystem import REAL, FileSystem
from logstore.arguments import whole_number
from logstore.errors import CorruptCheckpointError
from logstore.topic_partition import TopicPartition

RECOVERY_POINT_CHECKPOINT: Final = "recovery-point-offset-checkpoint"
"""Everything before these offsets is flushed to disk."""
HIGH_WATERMARK_CHECKPOINT: Final = "replication-offset-checkpoint"
"""Everything before these offsets was committed, as far as this broker knew."""
LOG_START_OFFSET_CHECKPOINT: Final = "log-start-offset-checkpoint"
"""The first offsets that may be read, where retention or DeleteRecords moved them inside a segment."""
CLEANER_OFFSET_CHECKPOINT: Final = "cleaner-offset-checkpoint"
"""Everything before these offsets was compacted."""

OFFSET_CHECKPOINTS: Final = (
    RECOVERY_POINT_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)


class OffsetCheckpoint(dict[TopicPartition, int]):
    r"""Offsets by partition, read from one checkpoint file; if a partition has several lines, the last one counts.

    >>> OffsetCheckpoint.parse(b"0\n1\norders 2 6528\n")
    {TopicPartition(topic='orders', partition=2): 6528}
    """

    @classmethod
    def read(cls, path: Path) -> "OffsetCheckpoint":
        """Read a checkpoint file. Raises CorruptCheckpointError, and OSError where the file cannot be read."""
        try:
            data = read_checkpoint(path)
        except CheckpointError as error:
            raise _corrupt(error, path) from error
        return cls.parse(data, path)

    @classmethod
    def parse(cls, data: bytes, path: Path = Path()) -> "OffsetCheckpoint":
        """Read a checkpoint's bytes; no bytes at all are an empty checkpoint, as older brokers leave it."""
        try:
            rows = parse_checkpoint_lines(data, path=path, fields=3)
            return cls(_offset(row, path) for row in rows)
        except CheckpointError as error:
            raise _corrupt(error, path) from error

    def encode(self) -> bytes:
        r"""Return the file's bytes, the partitions in order. Raises TypeError if an offset is not a whole number.

        >>> OffsetCheckpoint({TopicPartition("orders", 2): 6528}).encode()
        b'0\n1\norders 2 6528\n'
        """
        return format_checkpoint(
            (topic, partition, whole_number(offset, f"the offset of {topic}-{partition}"))
            for (topic, partition), offset in sorted(self.items())
        )

    def write(self, path: Path, filesystem: FileSystem = REAL) -> None:
        """Replace the file, atomically and durably. Raises OSError."""
        filesystem.write_atomically(path, self.encode())


_ADVICE = "the broker cannot start with it; remove the file, and Kafka finds the offsets from the logs themselves"


def _offset(row: CheckpointRow, path: Path) -> tuple[TopicPartition, int]:
    topic, partition, offset = row.fields
    return (
        TopicPartition(topic, parse_number(partition, bits=32, path=path, line=row.line)),
        parse_number(offset, bits=64, path=path, line=row.line),
    )


def _corrupt(error: CheckpointError, path: Path) -> CorruptCheckpointError:
    return CorruptCheckpointError(f"line {error.line}: {error.problem}", file=path, advice=_ADVICE)
