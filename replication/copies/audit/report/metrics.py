"""An audit's result for Prometheus: a file for the textfile collector of its node exporter."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, write_to_textfile
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from logstore.verify import Severity
from replication.base.json_object import Json
from replication.copies.audit.judgement.elected import candidate_of
from replication.copies.audit.judgement.verdict import Verdict

_CHOICES: Final = {
    "kafkas_choice": "kafka",
    "latest_and_longest": "latest_and_longest",
    "least_loss": "least_loss",
}


def write_metrics(document: Json, status: int, file: Path) -> None:
    """Write them from the object that `epochlog audit --json` prints, all at once. Raises OSError.

    `status` is what the command exits with.
    """
    registry = CollectorRegistry()
    registry.register(_Document(document, status))
    write_to_textfile(str(file), registry)


class _Document(Collector):
    def __init__(self, document: Json, status: int) -> None:
        self._document = document
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        metrics = self._document["metrics"]
        yield _gauge("timestamp_seconds", "When the audit began, in seconds since 1970 UTC.", metrics["time"])
        yield _gauge("duration_seconds", "How long the audit took.", metrics["seconds"])
        yield _gauge("log_bytes", "Bytes of log in all copies.", metrics["bytes"])
        yield _gauge("read_bytes", "Bytes of log that this audit has read.", metrics["bytes_read"])
        if metrics["bytes_fetched"] is not None:
            yield _gauge("fetched_bytes", "Bytes that were fetched from object stores.", metrics["bytes_fetched"])
            yield _gauge("requests", "Requests to object stores.", metrics["requests"])
        yield _gauge("oldest_read_seconds", "When the bytes were read that were read first.", metrics["oldest_read"])
        yield _gauge("copies", "Copies of partitions.", metrics["copies"])
        yield _gauge("exit_status", "What the audit exits with: 0 where all is well.", self._status)
        yield self._partitions()
        yield self._findings()
        yield self._lost()

    def _partitions(self) -> Metric:
        family = GaugeMetricFamily("epochlog_audit_partitions", "Partitions by their verdict.", labels=["verdict"])
        verdicts = [each["verdict"] for each in self._document["partitions"]]
        for verdict in Verdict:
            family.add_metric([verdict.value], verdicts.count(verdict.value))
        return family

    def _findings(self) -> Metric:
        family = GaugeMetricFamily("epochlog_audit_findings", "Findings by severity.", labels=["severity"])
        for severity in Severity:
            family.add_metric([severity.value], self._document["metrics"][f"findings_{severity.value}"])
        return family

    def _lost(self) -> Metric:
        family = GaugeMetricFamily(
            "epochlog_audit_lost_records",
            "Records that are lost if all partitions are led as a rule chooses, as far as that is known.",
            labels=["choice", "records"],
        )
        for rule, name in _CHOICES.items():
            chosen = [candidate_of(each, each[rule]) for each in self._document["partitions"]]
            if not any(chosen):
                continue
            for kind, label in (("lost", "all"), ("acknowledged", "acknowledged")):
                known = (each[kind]["records"] for each in chosen if each and each[kind])
                family.add_metric([name, label], sum(known))
        return family


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(f"epochlog_audit_{name}", meaning, value=value)
