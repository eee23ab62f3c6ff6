"""Names and quantiles, as Prometheus' JMX exporter makes them of Kafka's MBeans."""

import pytest

from replication.cluster.node.metrics.kafka_families import Times, counter, gauge


@pytest.mark.parametrize(
    ("mbean", "name"),
    [
        (
            "kafka.server:ReplicaManager:UnderReplicatedPartitions",
            "kafka_server_replicamanager_underreplicatedpartitions",
        ),
        ("kafka.server:ReplicaManager:IsrShrinksPerSec", "kafka_server_replicamanager_isrshrinks_total"),
        ("kafka.server:socket-server-metrics:connection-count", "kafka_server_socket_server_metrics_connection_count"),
    ],
)
def test_names(mbean: str, name: str) -> None:
    family = (counter if mbean.endswith("PerSec") else gauge)(mbean, "What it is.", 7)
    assert [(each.name, each.value) for each in family.samples] == [(name, 7)]


def test_quantiles_are_of_the_latest_and_in_milliseconds() -> None:
    times = Times("kafka.network:RequestMetrics:TotalTimeMs", "Times.")
    times.add({"request": "Fetch"}, 500, 2.5, [each / 1_000 for each in range(100, 0, -1)])
    told = {each.labels.get("quantile", each.name.rpartition("_")[2]): each.value for each in times.metric.samples}
    assert told == {
        "count": 500,
        "sum": 2_500,
        "0.50": 51,
        "0.75": 76,
        "0.95": 96,
        "0.98": 99,
        "0.99": 100,
        "0.999": 100,
    }


def test_without_any_there_are_no_quantiles() -> None:
    times = Times("kafka.log:LogFlushStats:LogFlushRateAndTimeMs", "Flushes.")
    times.add({}, 0, 0.0, ())
    assert [each.value for each in times.metric.samples] == [0, 0]
