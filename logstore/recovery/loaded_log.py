"""A log as recovery leaves it."""

from typing import NamedTuple

from epoch.cache import LeaderEpochFileCache
from logstore.files.only_copy.offset_gaps import OffsetGaps
from logstore.producers.producer_state import ProducerState
from logstore.recovery.recovery_report import RecoveryReport
from logstore.segment.live_segment import LiveSegment


class LoadedLog(NamedTuple):
    """A log that is ready to be read and written (Kafka: LoadedLogOffsets)."""

    segments: list[LiveSegment]
    """By base offset; at least one. The last is the active one."""
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    epochs: LeaderEpochFileCache
    producers: ProducerState
    report: RecoveryReport
    gaps: OffsetGaps = OffsetGaps()
    keeps_beginning: bool = False
    """Whether remote storage has, or may have, what start and leader epochs say lies below the first segment."""
    is_followed: bool = False
    """Whether the log, as an only copy, has noted that it followed other leaders."""
