"""What a follower is to do to its log."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Truncate:
    """Truncate the log to `offset`."""

    offset: int
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class StartAfresh:
    """Drop everything and go on at `offset`, where the leader's log starts (Kafka: truncateFullyAndStartAt)."""

    offset: int
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Append:
    """Append the leader's batches, then take its high watermark and its log's start."""

    records: bytes | memoryview
    high_watermark: int
    log_start_offset: int


Action = Truncate | StartAfresh | Append
