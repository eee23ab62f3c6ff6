"""Metrics under Kafka's names, as the example configuration of Prometheus' JMX exporter makes them of MBeans.

>>> from replication.cluster.node.metrics.kafka_families import gauge
>>> gauge("kafka.server:ReplicaManager:PartitionCount", "Partitions.", 3).name
'kafka_server_replicamanager_partitioncount'
"""

from collections.abc import Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

_PER_SECOND: Final = "PerSec"
_QUANTILES: Final = ("0.50", "0.75", "0.95", "0.98", "0.99", "0.999")
_MS: Final = 1_000


def gauge(
    mbean: str, meaning: str, value: float | None = None, labels: Sequence[str] | None = None
) -> GaugeMetricFamily:
    """Return a gauge for an MBean, named by its domain, type and name."""
    return GaugeMetricFamily(_name(mbean), meaning, value=value, labels=labels)


def counter(
    mbean: str, meaning: str, value: float | None = None, labels: Sequence[str] | None = None
) -> CounterMetricFamily:
    """Return what Kafka's meter has counted: `…PerSec` becomes `…_total`."""
    return CounterMetricFamily(_name(mbean.removesuffix(_PER_SECOND)), meaning, value=value, labels=labels)


class Times:
    """Kafka's histogram of times in milliseconds, as a summary."""

    def __init__(self, mbean: str, meaning: str) -> None:
        """Begin without samples."""
        self.metric: Final = Metric(_name(mbean), meaning, "summary")

    def add(self, labels: dict[str, str], count: int, seconds: float, recent: Sequence[float]) -> None:
        """Add how many there were and how long all took; quantiles are of those that are recent."""
        name = self.metric.name
        self.metric.add_sample(f"{name}_count", labels, count)
        self.metric.add_sample(f"{name}_sum", labels, seconds * _MS)
        ordered = sorted(recent)
        if ordered:
            for quantile in _QUANTILES:
                place = min(int(float(quantile) * len(ordered)), len(ordered) - 1)
                self.metric.add_sample(name, {**labels, "quantile": quantile}, ordered[place] * _MS)


def _name(mbean: str) -> str:
    return mbean.lower().replace(".", "_").replace(":", "_").replace("-", "_")
