"""What can go wrong with an epoch history, each error also a fitting builtin."""

from pathlib import Path


class EpochError(Exception):
    """Base of everything that this package raises on purpose."""


class InvalidEpochEntryError(EpochError, ValueError):
    """An epoch or offset that no leader can have (Kafka: IllegalArgumentException)."""

    def __init__(self, epoch: int, start_offset: int) -> None:
        self.epoch = epoch
        self.start_offset = start_offset
        super().__init__(
            f"epoch {epoch} cannot start at offset {start_offset}: "
            "an epoch is within 0..2^31-1 and an offset within 0..2^63-1"
        )


class CheckpointError(EpochError, ValueError):
    """A checkpoint file that cannot be read as one (Kafka: KafkaStorageException).

    `file` and `line` (counted from 1) say where.
    """

    def __init__(self, file: Path, line: int, problem: str, remedy: str = "") -> None:
        self.file = file
        self.line = line
        self.problem = problem
        super().__init__(f"{file}, line {line}: {problem}{remedy and '; '}{remedy}")


class UnknownEpochError(EpochError, LookupError):
    """The leader cannot say where an epoch ends (Kafka answers such a fetch with OFFSET_OUT_OF_RANGE)."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        super().__init__(
            f"the end of epoch {epoch} is unknown here: the fetch offset is out of range, "
            "and the follower must start again from the leader's own offsets"
        )


class InheritedError(EpochError, RuntimeError):
    """A forked process was to change what is in a file of the process that it was forked from."""


class TruncationOrderError(EpochError, RuntimeError):
    """A truncation was told something that it had not asked for."""
