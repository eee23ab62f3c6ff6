"""Which segments a log no longer keeps, decided without touching them (Kafka: deletableSegments)."""

from collections.abc import Callable, Sequence

from logstore.log_config import LogConfig
from logstore.segment.live_segment import LiveSegment

Condition = Callable[[LiveSegment, LiveSegment | None], bool]
"""Whether a segment may go, given it and the one after it."""


def is_before(log_start_offset: int) -> Condition:
    """Select segments that lie below the log's start altogether."""
    return lambda _, following: following is not None and following.base_offset <= log_start_offset


def holds_nothing(log_start_offset: int, log_end_offset: int) -> Condition:
    """Select what `is_before` selects, and the active segment of a log that holds no record any more."""
    return lambda _, following: (following.base_offset if following else log_end_offset) <= log_start_offset


def exceeds_size(total_bytes: int, config: LogConfig) -> Condition:
    """Select the oldest segments without which the log is still `retention_bytes` large."""
    surplus = total_bytes - config.retention_bytes

    def exceeds(segment: LiveSegment, _: LiveSegment | None) -> bool:
        nonlocal surplus
        surplus -= segment.size
        return surplus >= 0

    return exceeds if config.retention_bytes >= 0 else lambda *_: False


def exceeds_age(now_ms: int, retention_ms: int) -> Condition:
    """Select segments whose largest timestamp is more than `retention_ms` ago; none where that is -1."""
    if retention_ms < 0:
        return lambda *_: False
    return lambda segment, _: now_ms - segment.largest_timestamp > retention_ms


def select_expired(
    segments: Sequence[LiveSegment], condition: Condition, *, high_watermark: int, log_end_offset: int
) -> list[LiveSegment]:
    """Return the leading segments that fulfil `condition` and lie below the high watermark.

    An empty active segment stays: there would only be another one in its place.
    """
    expired: list[LiveSegment] = []
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        end = following.base_offset if following else log_end_offset
        is_empty_active = following is None and not segment.size
        if high_watermark < end or not condition(segment, following) or is_empty_active:
            break
        expired.append(segment)
    return expired
