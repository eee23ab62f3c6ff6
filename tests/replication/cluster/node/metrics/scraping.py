"""What Prometheus reads of a broker of ours."""

import urllib.request
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from replication.cluster.node.broker_node import BrokerNode
from replication.cluster.node.metrics.broker_metrics import BrokerMetrics
from tests.oracle.jmx import Sample


class Scrape(dict[Sample, float]):
    """By name and labels."""

    def value(self, name: str, **labels: object) -> float:
        """The sample of this name with just these labels."""
        return self[Sample(name, frozenset((label, str(value)) for label, value in labels.items()))]


def scraped(address: str) -> Scrape:
    """Scrape as Prometheus does."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
        return _parsed(answer.read().decode())


def looked_at(node: BrokerNode) -> Scrape:
    """The same without a server."""
    registry = CollectorRegistry()
    registry.register(BrokerMetrics(node))
    return _parsed(generate_latest(registry).decode())


def of(samples: Mapping[Sample, float]) -> Scrape:
    """The samples of another broker, to be looked at as ours."""
    return Scrape(samples)


def _parsed(text: str) -> Scrape:
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    scrape = Scrape({Sample(each.name, frozenset(each.labels.items())): each.value for each in samples})
    assert len(scrape) == len(samples), "a sample is there twice"
    return scrape
