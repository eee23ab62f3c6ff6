"""What Prometheus is told of an audit."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from replication.audit import audit_locally
from replication.copies.audit.report.metrics import write_metrics
from tests.data.replicas import replicas


def test_a_forked_cluster_in_numbers(tmp_path: Path) -> None:
    document = audit_locally([replicas("diverged")]).document
    file = tmp_path / "audit.prom"
    write_metrics(document, 3, file)
    samples = {
        (each.name.removeprefix("epochlog_audit_"), *each.labels.values()): each.value
        for family in text_string_to_metric_families(file.read_text())
        for each in family.samples
    }
    assert samples["partitions", "forked"] == 2
    assert samples["partitions", "identical"] == 4
    assert samples["partitions", "unknown"] == 0
    assert samples["findings", "critical"] == 2
    assert samples["lost_records", "latest_and_longest", "acknowledged"] == 240
    assert ("lost_records", "kafka", "acknowledged") not in samples, "no copy of the metadata tells whom Kafka elects"
    assert samples["lost_records", "least_loss", "all"] == 82
    assert samples["log_bytes",] == samples["read_bytes",] == document["metrics"]["bytes"]
    assert samples["exit_status",] == 3
    assert samples["timestamp_seconds",] == document["metrics"]["time"]
    assert list(tmp_path.iterdir()) == [file], "written all at once"
