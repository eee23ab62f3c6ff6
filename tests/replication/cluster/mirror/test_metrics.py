"""What Prometheus is told of a mirror."""

import socket
import urllib.request
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from logstore import TopicPartition
from replication.base.metrics_server import MetricsServer
from replication.cluster.fetcher.removed_records import RemovedRecords
from replication.cluster.mirror.metrics import MirrorMetrics
from replication.cluster.mirror.status import PartitionStatus, Tally

ORDERS = TopicPartition("orders", 3)


def status(**changes: object) -> PartitionStatus:
    return replace(PartitionStatus(ORDERS, "fetching", "", 7, 10, 420, 400, 25, Tally()), **changes)  # type: ignore[arg-type]


def scraped(*statuses: PartitionStatus) -> dict[tuple[str, frozenset[str]], float]:
    """All samples by name, and by the labels beyond topic and partition."""
    server = MetricsServer(MirrorMetrics(lambda: statuses))
    try:
        text = urllib.request.urlopen(f"http://{server.address}/metrics", timeout=10).read().decode()
    finally:
        server.close()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert {(sample.labels["topic"], sample.labels["partition"]) for sample in samples} <= {("orders", "3")}
    return {
        (
            sample.name.removeprefix("epochlog_mirror_"),
            frozenset(sample.labels.values()) - {"orders", "3"},
        ): sample.value
        for sample in samples
    }


def test_the_offsets_are_those_of_the_copy_and_the_lag_is_the_leaders() -> None:
    told = scraped(status())
    names = ("lag_offsets", "leader_epoch", "log_start_offset", "log_end_offset", "high_watermark_offset", "failed")
    assert [told[name, frozenset()] for name in names] == [25, 7, 10, 420, 400, 0]


def test_a_lag_that_nobody_knows_is_not_told() -> None:
    assert ("lag_offsets", frozenset()) not in scraped(status(lag=None))


def test_truncations_are_counted_apart_where_they_went_below_the_high_watermark() -> None:
    tally = Tally()
    for records, below in ((120, False), (120, False), (100, True), (0, False)):
        tally.add_cut(RemovedRecords(300, records, records * 80), is_below_high_watermark=below)
    told = scraped(status(tally=tally))
    assert told["truncations_total", frozenset({"false"})] == 2
    assert told["truncations_total", frozenset({"true"})] == 1
    assert told["truncated_records_total", frozenset({"false"})] == 240
    assert told["truncated_records_total", frozenset({"true"})] == 100


def test_errors_are_counted_by_kafkas_names() -> None:
    tally = Tally(bytes=5_000, appends=2)
    tally.errors["FENCED_LEADER_EPOCH"] += 3
    told = scraped(status(tally=tally, failed=True))
    assert told["errors_total", frozenset({"FENCED_LEADER_EPOCH"})] == 3
    assert (told["bytes_total", frozenset()], told["appends_total", frozenset()]) == (5_000, 2)
    assert told["failed", frozenset()] == 1


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError) as failure:
            MetricsServer(MirrorMetrics(tuple), port=port)
    assert str(port) in failure.value.__notes__[0]
