"""Metrics of what a broker follows."""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import Metric

from replication.fetcher.fetcher_manager import FetcherManager
from replication.node.metrics.kafka_families import gauge

_MANAGER: Final = "kafka.server:ReplicaFetcherManager"
_CLIENT: Final = ["Replica"]


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
