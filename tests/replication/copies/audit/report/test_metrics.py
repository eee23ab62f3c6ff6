"""What Prometheus is told of an audit."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from replication.audit import audit_locally
from replication.copies.audit.report.metrics import write_metrics
from tests.data.replicas import replicas
from tests.replication.copies.audit.loopback_store import LoopbackStore


def samples_of(file: Path) -> dict[tuple[str, ...], float]:
    return {
        (each.name.removeprefix("epochlog_audit_"), *each.labels.values()): each.value
        for family in text_string_to_metric_families(file.read_text())
        for each in family.samples
    }


@pytest.mark.parametrize("workers", [0, 2])
def test_what_was_fetched_is_what_the_store_has_sent(workers: int, tmp_path: Path) -> None:
    with LoopbackStore(replicas("diverged")).running() as store:
        named = [store.address(name) for name in ("broker-1", "broker-2")]
        audited = audit_locally(named, topics=["orders", "diverge"], workers=workers)
        told = audited.document["metrics"]
        assert told["bytes_fetched"] == store.sent > told["bytes"]
        assert told["requests"] == pytest.approx(store.requests.total(), rel=0.1)
    file = tmp_path / "audit.prom"
    write_metrics(audited.document, 3, file)
    samples = samples_of(file)
    assert samples["fetched_bytes",] == store.sent
    assert samples["requests",] == told["requests"]

    write_metrics({**audited.document, "metrics": {**told, "bytes_fetched": None, "requests": None}}, 3, file)
    assert samples_of(file).keys() == samples.keys() - {("fetched_bytes",), ("requests",)}


def test_a_forked_cluster_in_numbers(tmp_path: Path) -> None:
    document = audit_locally([replicas("diverged")]).document
    file = tmp_path / "audit.prom"
    write_metrics(document, 3, file)
    samples = samples_of(file)
    assert samples["partitions", "forked"] == 2
    assert samples["partitions", "identical"] == 4
    assert samples["partitions", "unknown"] == 0
    assert samples["findings", "critical"] == 2
    assert samples["lost_records", "latest_and_longest", "acknowledged"] == 240
    assert ("lost_records", "kafka", "acknowledged") not in samples, "no copy of the metadata tells whom Kafka elects"
    assert samples["lost_records", "least_loss", "all"] == 82
    assert samples["log_bytes",] == samples["read_bytes",] == document["metrics"]["bytes"]
    assert samples["fetched_bytes",] == samples["requests",] == 0
    assert samples["exit_status",] == 3
    assert samples["timestamp_seconds",] == document["metrics"]["time"]
    assert list(tmp_path.iterdir()) == [file], "written all at once"
