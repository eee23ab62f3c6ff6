"""Metrics of the requests that a broker answers."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Final

from prometheus_client.core import Metric

from replication.cluster.node.metrics.kafka_families import Times, counter
from replication.wire.messages import fetch
from replication.wire.messages.apis import api_with
from replication.wire.server.request_times import RequestKind, RequestSeconds, RequestTotals

_REQUESTS: Final = "kafka.network:RequestMetrics"
_PARTS: Final[Sequence[tuple[str, str, Callable[[RequestSeconds], float]]]] = (
    ("TotalTimeMs", "From a request to its answer, with what it had to wait for.", attrgetter("total")),
    ("LocalTimeMs", "Of that, reading the request and carrying it out.", attrgetter("local")),
    ("RemoteTimeMs", "Of that, waiting for others, or for records.", attrgetter("waiting")),
    ("ResponseSendTimeMs", "Of that, sending the answer.", attrgetter("sending")),
)


def request_metrics(totals: Mapping[RequestKind, RequestTotals]) -> Iterator[Metric]:
    """Yield them by request, under the names that Kafka gives: a Fetch counts once more by who fetches."""
    count = counter(f"{_REQUESTS}:RequestsPerSec", "Requests that were answered.", labels=("request", "version"))
    times = [(Times(f"{_REQUESTS}:{name}", meaning), seconds_of) for name, meaning, seconds_of in _PARTS]
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
        requests = sum(one.requests for one in each)
        for part, seconds_of in times:
            seconds = sum(seconds_of(one.seconds) for one in each)
            part.add({"request": name}, requests, seconds, [seconds_of(one) for one in recent])
    yield count
    for part, _ in times:
        yield part.metric


def _names(kind: RequestKind) -> tuple[str, ...]:
    api = api_with(kind.api_key)
    name = str(kind.api_key) if api is None else api.name
    if kind.api_key != fetch.API_KEY:
        return (name,)
    return name, "FetchFollower" if kind.is_of_replica else "FetchConsumer"
