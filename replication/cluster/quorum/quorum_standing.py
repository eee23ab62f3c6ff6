"""Where an observer of a quorum stands (Kafka: KafkaRaftMetrics)."""

from typing import NamedTuple


class QuorumStanding(NamedTuple):
    """As of the last answer."""

    leader_id: int = -1
    """-1 where nobody is known to lead."""
    leader_epoch: int = 0
    high_watermark: int = -1
    """-1 before it is known."""
    log_end_offset: int = 0
    log_end_epoch: int = 0
    """Of the last record; 0 where there is none."""
