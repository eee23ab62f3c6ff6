"""Metrics of a broker's replicas: how many, how they stand, and who lags."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from logstore import LogStoreError, TopicPartition
from logstore.log.readable_log import ReadableLog
from replication.cluster.broker.events.event_counts import EventCounts
from replication.cluster.broker.partitions.follower_progress import UNKNOWN_OFFSET
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.node.metrics.kafka_families import counter, gauge
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration

_MANAGER: Final = "kafka.server:ReplicaManager"
_PARTITION: Final = "kafka.cluster:Partition"
_LOG: Final = "kafka.log:Log"
_LABELS: Final = ("topic", "partition")


class _Standing(NamedTuple):
    """How a partition stands that this broker leads."""

    partition: TopicPartition
    led: LedPartition
    log: ReadableLog
    replicas: int
    """Without those that a reassignment adds."""
    is_reassigned: bool

    @property
    def is_under_replicated(self) -> bool:
        return len(self.led.isr) < self.replicas


def replica_metrics(hosted: HostedPartitions, image: ClusterImage, counts: EventCounts) -> Iterator[Metric]:
    """Yield them as they are now."""
    standings = tuple(_standings(hosted, image))
    offline = len(hosted.offline)
    yield gauge(f"{_MANAGER}:PartitionCount", "Partitions of which this broker has a replica.", len(hosted) + offline)
    yield gauge(f"{_MANAGER}:LeaderCount", "Partitions that it leads.", len(standings))
    yield gauge(f"{_MANAGER}:OfflineReplicaCount", "Replicas that cannot be used.", offline)
    yield from _of_all(standings)
    yield counter(f"{_MANAGER}:IsrShrinksPerSec", "ISRs that its leaders have made smaller.", counts.isr_shrinks)
    yield counter(f"{_MANAGER}:IsrExpandsPerSec", "ISRs that its leaders have made larger.", counts.isr_expands)
    yield from _of_each(standings)
    yield _lags(standings)
    yield from _events(counts)


def log_metrics(hosted: HostedPartitions) -> Iterator[Metric]:
    """Yield what is known of each log; not of those that are closed meanwhile."""
    size = gauge(f"{_LOG}:Size", "Bytes of its segments' logs.", labels=_LABELS)
    start = gauge(f"{_LOG}:LogStartOffset", "Where it starts.", labels=_LABELS)
    end = gauge(f"{_LOG}:LogEndOffset", "Where it ends.", labels=_LABELS)
    segments = gauge(f"{_LOG}:NumLogSegments", "How many segments it has.", labels=_LABELS)
    high_watermark = GaugeMetricFamily(
        "epochlog_broker_high_watermark", "High watermark of the replica.", labels=_LABELS
    )
    epoch = GaugeMetricFamily(
        "epochlog_broker_leader_epoch", "Leader epoch in which the partition is led or followed.", labels=_LABELS
    )
    for partition, each in list(hosted.items()):
        found = _read(each.log)
        if found is not None:
            labels = _labels(partition)
            for family, value in zip((size, start, end, segments, high_watermark), found, strict=True):
                family.add_metric(labels, value)
            epoch.add_metric(labels, each.leader_epoch)
    yield from (size, start, end, segments, high_watermark, epoch)


def _read(log: ReadableLog) -> tuple[int, ...] | None:
    try:
        return log.size, log.log_start_offset, log.log_end_offset, len(log.segments), log.high_watermark
    except (LogStoreError, OSError):
        return None


def _standings(hosted: HostedPartitions, image: ClusterImage) -> Iterator[_Standing]:
    for partition, each in list(hosted.items()):
        led = each.led
        if led is not None:
            state = _state(image, partition)
            adding = () if state is None else state.adding_replicas
            is_reassigned = state is not None and bool(adding or state.removing_replicas)
            yield _Standing(partition, led, each.log, len(led.followers) + 1 - len(adding), is_reassigned)


def _state(image: ClusterImage, partition: TopicPartition) -> PartitionRegistration | None:
    topic = image.topics.by_name.get(partition.topic)
    return None if topic is None else topic.partitions.get(partition.partition)


def _of_all(standings: tuple[_Standing, ...]) -> Iterator[Metric]:
    under = sum(each.is_under_replicated for each in standings)
    under_min = sum(each.led.is_under_min_isr for each in standings)
    at_min = sum(each.led.is_at_min_isr for each in standings)
    moved = sum(each.is_reassigned for each in standings)
    yield gauge(f"{_MANAGER}:UnderReplicatedPartitions", "Led here, and not all replicas are in sync.", under)
    yield gauge(f"{_MANAGER}:UnderMinIsrPartitionCount", "Led here, and fewer than min.insync.replicas are.", under_min)
    yield gauge(f"{_MANAGER}:AtMinIsrPartitionCount", "Led here, and just min.insync.replicas are.", at_min)
    yield gauge(f"{_MANAGER}:ReassigningPartitions", "Led here, and moved to other brokers.", moved)


def _of_each(standings: tuple[_Standing, ...]) -> Iterator[Metric]:
    under = gauge(f"{_PARTITION}:UnderReplicated", "1 if not all its replicas are in sync.", labels=_LABELS)
    under_min = gauge(f"{_PARTITION}:UnderMinIsr", "1 if fewer than min.insync.replicas are.", labels=_LABELS)
    at_min = gauge(f"{_PARTITION}:AtMinIsr", "1 if just min.insync.replicas are.", labels=_LABELS)
    in_sync = gauge(f"{_PARTITION}:InSyncReplicasCount", "Its replicas in sync.", labels=_LABELS)
    replicas = gauge(f"{_PARTITION}:ReplicasCount", "Its replicas.", labels=_LABELS)
    for each in standings:
        labels = _labels(each.partition)
        under.add_metric(labels, each.is_under_replicated)
        under_min.add_metric(labels, each.led.is_under_min_isr)
        at_min.add_metric(labels, each.led.is_at_min_isr)
        in_sync.add_metric(labels, len(each.led.isr))
        replicas.add_metric(labels, each.replicas)
    yield from (under, under_min, at_min, in_sync, replicas)


def _lags(standings: tuple[_Standing, ...]) -> Metric:
    """Return how far the followers of what is led here are behind, as far as they have fetched in this epoch."""
    meaning = "Offsets that a follower of a partition that is led here does not have yet, as its leader knows."
    lags = GaugeMetricFamily("epochlog_broker_replica_lag", meaning, labels=(*_LABELS, "replica"))
    for each in standings:
        for replica in each.led.followers:
            progress = each.led.progress_of(replica)
            if progress is not None and progress.log_end_offset != UNKNOWN_OFFSET:
                lag = max(0, each.log.log_end_offset - progress.log_end_offset)
                lags.add_metric([*_labels(each.partition), str(replica)], lag)
    return lags


def _events(counts: EventCounts) -> Iterator[Metric]:
    below = counts.truncations_below_high_watermark
    truncations = _counter("truncations", "Truncations that removed records.", "below_high_watermark")
    truncations.add_metric(["false"], counts.truncations - below)
    truncations.add_metric(["true"], below)
    yield truncations
    yield _counter("truncated_records", "Records that truncations removed.", value=counts.records_truncated)
    yield from _recovery(counts)
    yield _counter("role_changes", "Changes of its role in a partition, or of its epoch.", value=counts.role_changes)


def _recovery(counts: EventCounts) -> Iterator[Metric]:
    below = counts.recovery_truncations_below_high_watermark
    meaning = "Logs that recovery has cut, or found to end below their high watermark."
    truncations = _counter("recovery_truncations", meaning, "below_high_watermark")
    truncations.add_metric(["true"], below)
    truncations.add_metric(["unknown"], counts.recovery_truncations - below)
    yield truncations
    records, size = counts.records_truncated_by_recovery, counts.bytes_truncated_by_recovery
    yield _counter("recovery_truncated_records", "Records that recovery cut off, as far as counted.", value=records)
    yield _counter("recovery_truncated_bytes", "Bytes that recovery cut off.", value=size)


def _counter(name: str, meaning: str, *labels: str, value: float | None = None) -> CounterMetricFamily:
    return CounterMetricFamily(f"epochlog_broker_{name}", meaning, value=value, labels=labels or None)


def _labels(partition: TopicPartition) -> list[str]:
    return [partition.topic, str(partition.partition)]
