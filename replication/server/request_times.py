"""How many requests a server has answered, and how long each took (Kafka: RequestMetrics)."""

from collections import deque
from collections.abc import Mapping
from threading import Lock
from typing import Final, NamedTuple

_RECENT: Final = 1_000
"""Of so many the times are kept (Kafka's reservoirs hold 1,028)."""


class RequestKind(NamedTuple):
    """What is counted apart."""

    api_key: int
    version: int
    is_of_replica: bool = False
    """Whether another broker fetches, to keep a copy."""


class _Tally:
    """Of one kind, on one connection: only the connection's thread adds to it."""

    __slots__ = ("count", "recent", "seconds")

    def __init__(self, recent: deque[float]) -> None:
        self.count = 0
        self.seconds = 0.0
        self.recent = recent


class RequestTotals(NamedTuple):
    """Of all requests of a kind."""

    requests: int = 0
    seconds: float = 0.0
    """From when a request had come in full to when its answer was sent: with what it had to wait for."""
    recent: tuple[float, ...] = ()
    """The seconds that the latest ones took."""


class ConnectionTimes:
    """The requests of one connection."""

    def __init__(self, server: "RequestTimes") -> None:
        """Begin with none."""
        self._server: Final = server
        self.tallies: Final[dict[RequestKind, _Tally]] = {}

    def note(self, kind: RequestKind, seconds: float) -> None:
        """Count a request that was answered."""
        tally = self.tallies.get(kind)
        if tally is None:
            tally = self.tallies[kind] = _Tally(self._server.recent(kind))
        tally.count += 1
        tally.seconds += seconds
        tally.recent.append(seconds)


class RequestTimes:
    """Each connection counts its own, without a lock; they are added up when somebody asks."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock: Final = Lock()
        self._open: Final[set[ConnectionTimes]] = set()
        self._closed: Final[dict[RequestKind, RequestTotals]] = {}
        self._recent: Final[dict[RequestKind, deque[float]]] = {}

    def begin(self) -> ConnectionTimes:
        """Return what counts for a new connection."""
        times = ConnectionTimes(self)
        with self._lock:
            self._open.add(times)
        return times

    def end(self, times: ConnectionTimes) -> None:
        """Keep the numbers of a connection that has ended."""
        with self._lock:
            self._open.discard(times)
            _add(self._closed, times)

    def recent(self, kind: RequestKind) -> deque[float]:
        """Return where the latest times of a kind are kept, of all connections."""
        with self._lock:
            return self._recent.setdefault(kind, deque(maxlen=_RECENT))

    def totals(self) -> Mapping[RequestKind, RequestTotals]:
        """Return what there was so far."""
        with self._lock:
            totals = dict(self._closed)
            for times in self._open:
                _add(totals, times)
            return {kind: each._replace(recent=tuple(self._recent[kind].copy())) for kind, each in totals.items()}


def _add(totals: dict[RequestKind, RequestTotals], times: ConnectionTimes) -> None:
    for kind, tally in times.tallies.copy().items():
        known = totals.get(kind, RequestTotals())
        totals[kind] = RequestTotals(known.requests + tally.count, known.seconds + tally.seconds)
