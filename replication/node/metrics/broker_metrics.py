"""All metrics of a broker."""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from replication.clock import monotonic_ms
from replication.node.broker_node import BrokerNode
from replication.node.metrics.fetcher_metrics import fetcher_metrics
from replication.node.metrics.flush_times import FlushTimes
from replication.node.metrics.idle_share import IdleShare
from replication.node.metrics.kafka_families import Times, gauge
from replication.node.metrics.quorum_metrics import quorum_metrics
from replication.node.metrics.replica_metrics import log_metrics, replica_metrics
from replication.node.metrics.request_metrics import request_metrics
from replication.node.metrics.traffic_metrics import traffic_metrics


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
