"""The errors of epoch histories. Each also inherits from the builtin exception that fits."""

from pathlib import Path


class EpochError(Exception):
    """Base class of this package's errors."""


class InvalidEpochEntryError(EpochError, ValueError):
    """The epoch or offset is out of range (Kafka: IllegalArgumentException)."""

    def __init__(self, epoch: int, start_offset: int) -> None:
        self.epoch = epoch
        self.start_offset = start_offset
        super().__init__(
            f"epoch {epoch} cannot start at offset {start_offset}: "
            "epochs range from 0 to 2^31-1 and offsets from 0 to 2^63-1"
        )


class CheckpointError(EpochError, ValueError):
    """A checkpoint file cannot be parsed (Kafka: KafkaStorageException).

    `file` and `line` (counted from 1) give the place.
    """

    def __init__(self, file: Path, line: int, problem: str, remedy: str = "") -> None:
        self.file = file
        self.line = line
        self.problem = problem
        super().__init__(f"{file}, line {line}: {problem}{remedy and '; '}{remedy}")


class UnknownEpochError(EpochError, LookupError):
    """The leader does not know where an epoch ends (Kafka answers such a fetch with OFFSET_OUT_OF_RANGE)."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        super().__init__(
            f"the end of epoch {epoch} is unknown here: the fetch offset is out of range, "
            "and the follower must restart from the leader's offsets"
        )


class InheritedError(EpochError, RuntimeError):
    """A forked process tried to change epochs whose file belongs to its parent process."""


class TruncationOrderError(EpochError, RuntimeError):
    """A method of `Truncation` was called out of order: `next()` did not ask for that."""
