"""Metrics of the requests that a broker answers."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from prometheus_client.core import Metric

from replication.node.metrics.kafka_families import Times, counter
from replication.protocol.messages import fetch
from replication.protocol.messages.apis import api_with
from replication.server.request_times import RequestKind, RequestTotals

_REQUESTS: Final = "kafka.network:RequestMetrics"


def request_metrics(totals: Mapping[RequestKind, RequestTotals]) -> Iterator[Metric]:
    """Yield them by request, under the names that Kafka gives: a Fetch counts once more by who fetches."""
    count = counter(f"{_REQUESTS}:RequestsPerSec", "Requests that were answered.", labels=("request", "version"))
    times = Times(f"{_REQUESTS}:TotalTimeMs", "From a request to its answer, with what it had to wait for.")
    by_version: defaultdict[tuple[str, int], int] = defaultdict(int)
    by_name: defaultdict[str, list[RequestTotals]] = defaultdict(list)
    for kind, total in totals.items():
        for name in _names(kind):
            by_version[name, kind.version] += total.requests
            by_name[name].append(total)
    for (name, version), number in sorted(by_version.items()):
        count.add_metric([name, str(version)], number)
    for name, each in sorted(by_name.items()):
        recent = tuple(chain.from_iterable(total.recent for total in each))
        times.add({"request": name}, sum(one.requests for one in each), sum(one.seconds for one in each), recent)
    yield count
    yield times.metric


def _names(kind: RequestKind) -> tuple[str, ...]:
    api = api_with(kind.api_key)
    name = str(kind.api_key) if api is None else api.name
    if kind.api_key != fetch.API_KEY:
        return (name,)
    return name, "FetchFollower" if kind.is_of_replica else "FetchConsumer"
