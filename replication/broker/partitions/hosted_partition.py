"""A partition of which a broker has a copy."""

from dataclasses import dataclass
from uuid import UUID

from logstore import LogStoreError
from logstore.log.readable_log import ReadableLog


@dataclass(slots=True)
class HostedPartition:
    """A copy, and whether its broker leads the partition with it (Kafka: Partition)."""

    log: ReadableLog
    leader_epoch: int
    """The epoch in which the partition is led, as far as this broker knows."""
    is_leader: bool = True
    topic_id: UUID | None = None
    """None of topics that have none, as those of Kafka before 2.8."""
    damage: LogStoreError | None = None
    """What ends the log before its files do: whoever reads up to there is told KAFKA_STORAGE_ERROR."""
    root: str = ""
    """The entry of log.dirs that it is in."""
