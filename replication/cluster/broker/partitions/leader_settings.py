"""The settings of a partition that its leader looks at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderSettings:
    """With Kafka's names in brackets; the defaults are Kafka's."""

    min_insync_replicas: int = 1
    """As long as fewer are in sync, acks=all is refused and the high watermark stands still (min.insync.replicas)."""
    replica_lag_time_max_ms: int = 30_000
    """A follower that has not caught up for longer leaves the ISR (replica.lag.time.max.ms)."""
