"""All metrics of a broker."""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from replication.base.clock import monotonic_ms
from replication.cluster.broker.partitions.broker_traffic import BrokerTraffic
from replication.cluster.fetcher.fetcher_manager import FetcherManager
from replication.cluster.node.broker_node import BrokerNode
from replication.cluster.node.metrics.flush_times import FlushTimes
from replication.cluster.node.metrics.idle_share import IdleShare
from replication.cluster.node.metrics.kafka_families import Times, counter, gauge
from replication.cluster.node.metrics.replica_metrics import log_metrics, replica_metrics
from replication.cluster.node.metrics.request_metrics import request_metrics
from replication.cluster.quorum.quorum_standing import QuorumStanding

_TOPICS: Final = "kafka.server:BrokerTopicMetrics"
_BY_TOPIC: Final = {
    "messages_in": ("MessagesInPerSec", "Messages appended for producers and coordinators."),
    "bytes_in": ("BytesInPerSec", "Bytes of their record batches."),
    "bytes_out": ("BytesOutPerSec", "Bytes of record batches sent to consumers."),
    "failed_appends": ("FailedProduceRequestsPerSec", "Appends of producers that failed."),
}
_OF_ALL: Final = {
    "replication_bytes_in": ("ReplicationBytesInPerSec", "Bytes of record batches copied from leaders."),
    "replication_bytes_out": ("ReplicationBytesOutPerSec", "Bytes of record batches sent to followers."),
}
_MANAGER: Final = "kafka.server:ReplicaFetcherManager"
_CLIENT: Final = ["Replica"]


def quorum_metrics(standing: QuorumStanding) -> Iterator[Metric]:
    """Yield them under Kafka's names."""
    told = {
        "current-leader": ("The node that leads the controllers' quorum; -1: none is known.", standing.leader_id),
        "current-epoch": ("Of the quorum's leader.", standing.leader_epoch),
        "high-watermark": ("Of the metadata, as reported by its leader; -1: not yet known.", standing.high_watermark),
        "log-end-offset": ("Of the copy of the metadata.", standing.log_end_offset),
        "log-end-epoch": ("Of the last record of that copy.", standing.log_end_epoch),
    }
    for name, (meaning, value) in told.items():
        yield gauge(f"kafka.server:raft-metrics:{name}", meaning, value)


def fetcher_metrics(fetchers: FetcherManager) -> Iterator[Metric]:
    """Yield them as they are now; a lag that is not known is left out."""
    lags = gauge(
        "kafka.server:FetcherLagMetrics:ConsumerLag",
        "Offsets up to the leader's high watermark.",
        labels=("clientId", "topic", "partition"),
    )
    most = 0
    for leader, thread, partition, lag in fetchers.lags:
        if lag is not None:
            most = max(most, lag)
            lags.add_metric([f"ReplicaFetcherThread-{thread}-{leader}", partition.topic, str(partition.partition)], lag)
    yield _of_all("MaxLag", "The largest lag of all that is followed.", most)
    yield _of_all("FailedPartitionsCount", "Partitions that are followed no more.", len(fetchers.failed))
    yield _of_all("DeadThreadCount", "Fetchers that have given up.", fetchers.dead_threads)
    yield lags


def _of_all(name: str, meaning: str, value: float) -> Metric:
    family = gauge(f"{_MANAGER}:{name}", meaning, labels=("clientId",))
    family.add_metric(_CLIENT, value)
    return family


def traffic_metrics(traffic: BrokerTraffic) -> Iterator[Metric]:
    """Yield them; as Kafka's, a topic's have its name as a label, and those of all topics have none."""
    total, topics = traffic.totals()
    for field, (name, meaning) in (_BY_TOPIC | _OF_ALL).items():
        family = counter(f"{_TOPICS}:{name}", meaning, labels=("topic",))
        family.add_sample(f"{family.name}_total", {}, getattr(total, field))
        if field in _BY_TOPIC:
            for topic, each in topics.items():
                family.add_metric([topic], getattr(each, field))
        yield family


class BrokerMetrics(Collector):
    """Looks at the broker at each scrape: most of it costs nothing in between."""

    def __init__(self, node: BrokerNode, flushes: FlushTimes | None = None) -> None:
        """`flushes` observes the broker's logs, if any does."""
        self._node: Final = node
        self._flushes: Final = flushes
        self._idle: Final = IdleShare()

    def describe(self) -> Iterator[Metric]:
        """Yield nothing: who registers it does not scrape it."""
        yield from ()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        node = self._node
        yield from self._membership()
        if (standing := node.quorum_standing) is not None:
            yield from quorum_metrics(standing)
        yield from replica_metrics(node.replicas.hosted, node.image, node.event_counts)
        yield from log_metrics(node.replicas.hosted)
        yield from fetcher_metrics(node.fetchers)
        yield from traffic_metrics(node.traffic)
        yield from request_metrics(node.server.request_times.totals())
        yield from self._directories()

    def _membership(self) -> Iterator[Metric]:
        node = self._node
        yield gauge(
            "kafka.server:KafkaServer:BrokerState", "Its state by Kafka's numbers; 3: running.", node.lifecycle.state
        )
        yield gauge(
            "kafka.server:broker-metadata-metrics:last-applied-record-offset",
            "The highest offset of the metadata that its replicas stand at.",
            node.applied_offset,
        )
        heard_at = node.session.heard_at
        if heard_at is not None:
            yield GaugeMetricFamily(
                "epochlog_broker_heartbeat_age_seconds",
                "Since a heartbeat was sent whose answer lets it serve.",
                (monotonic_ms() - heard_at) / 1_000,
            )
        yield GaugeMetricFamily(
            "epochlog_broker_heartbeat_longest_gap_seconds",
            "The longest time between two such heartbeats that followed on each other.",
            node.session.longest_gap_ms / 1_000,
        )
        yield gauge(
            "kafka.server:KafkaRequestHandlerPool:RequestHandlerAvgIdle_Percent",
            "Share of one processor core that this process did not use in the last minute, from 0 to 1.",
            self._idle.take(),
        )
        family = gauge("kafka.server:socket-server-metrics:connection-count", "Open connections.", labels=("listener",))
        for listener, count in node.server.connection_counts.items():
            family.add_metric([listener], count)
        yield family

    def _directories(self) -> Iterator[Metric]:
        offline = self._node.directories.offline
        yield gauge("kafka.log:LogManager:OfflineLogDirectoryCount", "Directories that have failed.", len(offline))
        family = gauge("kafka.log:LogManager:LogDirectoryOffline", "1 if it has failed.", labels=("logDirectory",))
        for root in dict.fromkeys((*(each.root for each in self._node.directories.roots), *offline)):
            family.add_metric([str(root)], root in offline)
        yield family
        full = GaugeMetricFamily(
            "epochlog_broker_log_directory_full", "1 if its disk has no space.", labels=("logDirectory",)
        )
        for each in self._node.directories.roots:
            full.add_metric([str(each.root)], each.shortage is not None)
        yield full
        if self._flushes is not None:
            times = Times("kafka.log:LogFlushStats:LogFlushRateAndTimeMs", "Flushes of logs to stable storage.")
            times.add({}, self._flushes.count, self._flushes.seconds, self._flushes.recent)
            yield times.metric
