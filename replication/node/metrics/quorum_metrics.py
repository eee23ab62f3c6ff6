"""Metrics of a broker as an observer of the controllers' quorum (Kafka: KafkaRaftMetrics)."""

from collections.abc import Iterator

from prometheus_client.core import Metric

from replication.node.metrics.kafka_families import gauge
from replication.quorum.quorum_standing import QuorumStanding


def quorum_metrics(standing: QuorumStanding) -> Iterator[Metric]:
    """Yield them under Kafka's names."""
    told = {
        "current-leader": ("The node that leads the controllers' quorum; -1: none is known.", standing.leader_id),
        "current-epoch": ("Of the quorum's leader.", standing.leader_epoch),
        "high-watermark": ("Of the metadata, as far as its leader has told; -1: not yet.", standing.high_watermark),
        "log-end-offset": ("Of the copy of the metadata.", standing.log_end_offset),
        "log-end-epoch": ("Of the last record of that copy.", standing.log_end_epoch),
    }
    for name, (meaning, value) in told.items():
        yield gauge(f"kafka.server:raft-metrics:{name}", meaning, value)
