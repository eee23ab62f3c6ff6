"""Where a log begins and ends at one moment."""

from typing import NamedTuple


class LogOffsets(NamedTuple):
    """All that the answer to a fetch says of a log's ends (Kafka: LogOffsetSnapshot)."""

    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    log_end_offset: int
