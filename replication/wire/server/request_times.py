"""How many requests a server has answered, and how long each took (Kafka: RequestMetrics)."""

from collections import deque
from collections.abc import Mapping
from threading import Lock
from typing import Final, NamedTuple, TypeAlias

_RECENT: Final = 1_000
"""Of so many the times are kept (Kafka's reservoirs hold 1,028)."""


class RequestKind(NamedTuple):
    """What is counted apart."""

    api_key: int
    version: int
    is_of_replica: bool = False
    """Whether another broker fetches, to keep a copy."""


class RequestSeconds(NamedTuple):
    """Where the time of requests went, from when they had come in full; there is no queue, as Kafka has two."""

    local: float = 0.0
    """Reading and carrying them out (Kafka: LocalTimeMs)."""
    waiting: float = 0.0
    """For what they had to wait for, such as followers or records (Kafka: RemoteTimeMs)."""
    sending: float = 0.0
    """Their answers (Kafka: ResponseSendTimeMs)."""

    @property
    def total(self) -> float:
        """From a request to its answer."""
        return self.local + self.waiting + self.sending


_Seconds: TypeAlias = tuple[float, float, float]
"""The same, as long as nobody asks: it is made for each request."""


class _Tally:
    """Of one kind, on one connection: only the connection's thread adds to it."""

    __slots__ = ("count", "local", "recent", "sending", "waiting")

    def __init__(self, recent: deque[_Seconds]) -> None:
        self.count = 0
        self.local = self.waiting = self.sending = 0.0
        self.recent = recent


class RequestTotals(NamedTuple):
    """Of all requests of a kind."""

    requests: int = 0
    seconds: RequestSeconds = RequestSeconds()
    recent: tuple[RequestSeconds, ...] = ()
    """What the latest ones took."""


class ConnectionTimes:
    """The requests of one connection."""

    def __init__(self, server: "RequestTimes") -> None:
        """Begin with none."""
        self._server: Final = server
        self.tallies: Final[dict[RequestKind, _Tally]] = {}

    def note(self, kind: RequestKind, local: float, waiting: float, sending: float) -> None:
        """Count a request that was answered, with where its time went (see `RequestSeconds`)."""
        tally = self.tallies.get(kind)
        if tally is None:
            tally = self.tallies[kind] = _Tally(self._server.recent(kind))
        tally.count += 1
        tally.local += local
        tally.sending += sending
        if waiting:
            tally.waiting += waiting
        tally.recent.append((local, waiting, sending))


class RequestTimes:
    """Each connection counts its own, without a lock; they are added up when somebody asks."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock: Final = Lock()
        self._open: Final[set[ConnectionTimes]] = set()
        self._closed: Final[dict[RequestKind, RequestTotals]] = {}
        self._recent: Final[dict[RequestKind, deque[_Seconds]]] = {}

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

    def recent(self, kind: RequestKind) -> deque[_Seconds]:
        """Return where the latest times of a kind are kept, of all connections."""
        with self._lock:
            return self._recent.setdefault(kind, deque(maxlen=_RECENT))

    def totals(self) -> Mapping[RequestKind, RequestTotals]:
        """Return what there was so far."""
        with self._lock:
            totals = dict(self._closed)
            for times in self._open:
                _add(totals, times)
            recent = {kind: tuple(map(RequestSeconds._make, self._recent[kind].copy())) for kind in totals}
            return {kind: each._replace(recent=recent[kind]) for kind, each in totals.items()}


def _add(totals: dict[RequestKind, RequestTotals], times: ConnectionTimes) -> None:
    for kind, tally in times.tallies.copy().items():
        known = totals.get(kind, RequestTotals())
        local, waiting, sending = known.seconds
        seconds = RequestSeconds(local + tally.local, waiting + tally.waiting, sending + tally.sending)
        totals[kind] = RequestTotals(known.requests + tally.count, seconds)
