"""A mirror's metrics for Prometheus."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from replication.cluster.mirror.status import PartitionStatus

_LABELS: Final = ("topic", "partition")
_BELOW: Final = "below_high_watermark"


class MirrorMetrics(Collector):
    """Reads the partitions' states at each scrape, so that following them costs nothing extra."""

    def __init__(self, statuses: Callable[[], Iterable[PartitionStatus]]) -> None:
        """`statuses` returns the partitions' states; it is called from the server's threads."""
        self._statuses = statuses

    def collect(self) -> Iterator[Metric]:
        """Yield the current metrics."""
        statuses = tuple(self._statuses())
        yield from _gauges(statuses)
        yield from _counters(statuses)


def _gauges(statuses: Iterable[PartitionStatus]) -> Iterator[Metric]:
    lag = _gauge("lag_offsets", "Offsets up to the leader's high watermark.")
    epoch = _gauge("leader_epoch", "Leader epoch that is followed; -1 while none is known.")
    high_watermark = _gauge("high_watermark_offset", "High watermark of the copy.")
    end = _gauge("log_end_offset", "Log end offset of the copy.")
    start = _gauge("log_start_offset", "Log start offset of the copy.")
    failed = _gauge("failed", "1 if the partition has failed and is no longer followed.")
    for each in statuses:
        labels = _labels(each)
        if each.lag is not None:
            lag.add_metric(labels, each.lag)
        epoch.add_metric(labels, each.leader_epoch)
        high_watermark.add_metric(labels, each.high_watermark)
        end.add_metric(labels, each.log_end_offset)
        start.add_metric(labels, each.log_start_offset)
        failed.add_metric(labels, each.failed)
    yield from (lag, epoch, high_watermark, end, start, failed)


def _counters(statuses: Iterable[PartitionStatus]) -> Iterator[Metric]:
    size = _counter("bytes", "Bytes of record batches appended.")
    appends = _counter("appends", "Fetch responses whose batches were appended.")
    truncations = _counter("truncations", "Truncations that removed records.", _BELOW)
    records = _counter("truncated_records", "Records that truncations removed.", _BELOW)
    errors = _counter("errors", "Responses with an error, and failed requests.", "error")
    for each in statuses:
        labels, tally = _labels(each), each.tally
        size.add_metric(labels, tally.bytes)
        appends.add_metric(labels, tally.appends)
        below = tally.truncations_below_high_watermark
        truncations.add_metric([*labels, "false"], tally.truncations - below)
        truncations.add_metric([*labels, "true"], below)
        lost = tally.records_truncated_below_high_watermark
        records.add_metric([*labels, "false"], tally.records_truncated - lost)
        records.add_metric([*labels, "true"], lost)
        for name, count in tuple(tally.errors.items()):
            errors.add_metric([*labels, name], count)
    yield from (size, appends, truncations, records, errors)


def _gauge(name: str, meaning: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"epochlog_mirror_{name}", meaning, labels=_LABELS)


def _counter(name: str, meaning: str, *more_labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"epochlog_mirror_{name}", meaning, labels=(*_LABELS, *more_labels))


def _labels(status: PartitionStatus) -> list[str]:
    return [status.partition.topic, str(status.partition.partition)]
