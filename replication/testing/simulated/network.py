"""The connections of a simulated cluster: what is sent comes late, or never."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final, Protocol, TypeAlias

from replication.testing.simulated.process import Process
from replication.testing.simulated.timeline import Timeline
from replication.testing.simulated.trace import Trace, summary

Reply: TypeAlias = Callable[[Any], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFaults:
    """How badly a simulated network works; shares are between 0 and 1."""

    longest_delay_ms: int = 5
    """Of what is not late."""
    lost: float = 0.0
    """The share of requests and of answers that are lost; who waits for one learns by a time-out."""
    late: float = 0.0
    """The share that comes up to `longest_late_ms` late: on other connections, much may have happened by then."""
    longest_late_ms: int = 2_000


class Served(Protocol):
    """A process that answers."""

    @property
    def process(self) -> Process:
        """In which it does."""

    def serve(self, request: Any, reply: Reply) -> None:
        """Answer, now or later."""


class Network:
    """Delays, loses and cuts; connections are between nodes, by their ids."""

    def __init__(self, timeline: Timeline, random: Random, faults: NetworkFaults, trace: Trace) -> None:
        """Create a network in which all nodes reach each other."""
        self.faults: NetworkFaults = faults
        """May be replaced at any time."""
        self.servers: Final[dict[int, Served]] = {}
        """Who answers, by node."""
        self.timeline: Final = timeline
        self.trace: Final = trace
        self._random: Final = random
        self._cut: Final[set[frozenset[int]]] = set()
        self._open: Final[dict[_Exchange, None]] = {}

    def cut(self, one: int, other: int) -> None:
        """Cut the link between two nodes: what is under way is lost."""
        self._cut.add(frozenset((one, other)))

    def mend(self, one: int, other: int) -> None:
        """Restore the link between two nodes."""
        self._cut.discard(frozenset((one, other)))

    def heal(self) -> None:
        """Restore all links."""
        self._cut.clear()

    def is_cut(self, one: int, other: int) -> bool:
        """Whether two nodes do not reach each other."""
        return frozenset((one, other)) in self._cut

    def lose_server(self, node: int) -> None:
        """Remove a node's server, and fail the requests that wait for its answers."""
        server = self.servers.pop(node, None)
        for exchange in tuple(self._open):
            if exchange.server is server and server is not None:
                exchange.reset()

    def delay_ms(self) -> int | None:
        """Return how long the next message takes; None where it is lost."""
        faults, chance = self.faults, self._random.random()
        if chance < faults.lost:
            return None
        if chance < faults.lost + faults.late:
            return self._random.randint(faults.longest_delay_ms, faults.longest_late_ms)
        return self._random.randint(0, faults.longest_delay_ms)

    def opened(self, exchange: "_Exchange") -> None:
        """Remember what waits for an answer."""
        self._open[exchange] = None

    def closed(self, exchange: "_Exchange") -> None:
        """Forget it."""
        self._open.pop(exchange, None)


class Link:
    """One connection of a client to a node: what is sent arrives in order, in both directions."""

    def __init__(self, network: Network, client: Process, nodes: tuple[int, int], *, arrives_late: bool) -> None:
        """Connect `nodes`, the client's and the server's.

        With `arrives_late` what was sent may still arrive once the client has closed it or has ended; else it does not.
        """
        self.network: Final = network
        self.client: Final = client
        self.client_id: Final[int] = nodes[0]
        self.server_id: Final[int] = nodes[1]
        self.arrives_late: Final = arrives_late
        self.is_closed: bool = False
        self._is_broken = False
        self._there = self._back = 0

    def ask(self, request: Any, answered: Reply, failed: Callable[[str], object], timeout_ms: int) -> None:
        """Send a request; `answered` gets the answer, or `failed` hears why there is none."""
        exchange = _Exchange(self, request, answered, failed)
        self.network.opened(exchange)
        self.client.after(timeout_ms, exchange.time_out)
        now = self.network.timeline.now_ms
        self._there = self._send(self._there, exchange.arrive, now)

    def reply(self, take: Callable[[], object]) -> None:
        """Send an answer, which is taken as it arrives."""
        now = self.network.timeline.now_ms
        self._back = self._send(self._back, take, now)

    def _send(self, before: int, take: Callable[[], object], now: int) -> int:
        """Send one message after those before it, and return when it arrives; nothing arrives after one is lost."""
        delay = None if self._is_broken else self.network.delay_ms()
        if delay is None:
            self._is_broken = True
            return before
        arrival = max(before, now + delay)
        self.network.timeline.after(arrival - now, take)
        return arrival

    @property
    def is_over(self) -> bool:
        """Whether nothing arrives by it any more."""
        return not self.arrives_late and (self.is_closed or not self.client.is_alive)

    def close(self) -> None:
        """Expect no answer any more."""
        self.is_closed = True


class _Exchange:
    """A request and its answer."""

    def __init__(self, link: Link, request: Any, answered: Reply, failed: Callable[[str], object]) -> None:
        self.server: Final = link.network.servers.get(link.server_id)
        self._link: Final = link
        self._network: Final = link.network
        self._request: Final = request
        self._answered: Final = answered
        self._failed: Final = failed
        self._is_over = False

    def arrive(self) -> None:
        link, server = self._link, self._network.servers.get(self._link.server_id)
        if self._network.is_cut(link.client_id, link.server_id) or link.is_over:
            return
        if server is None or server is not self.server:
            self.reset()
        else:
            server.process.do(partial(self._serve, server))

    def _serve(self, server: Served) -> None:
        self._network.trace.note(f"{self._link.client_id}>{self._link.server_id} {summary(self._request)}")
        server.serve(self._request, self._reply)

    def _reply(self, answer: Any) -> None:
        self._link.reply(partial(self._return, answer))

    def _return(self, answer: Any) -> None:
        if not self._network.is_cut(self._link.client_id, self._link.server_id):
            self._link.client.do(partial(self._take, answer))

    def _take(self, answer: Any) -> None:
        if not self._end():
            return
        self._network.trace.note(f"{self._link.client_id}<{self._link.server_id} {summary(answer)}")
        self._answered(answer)

    def reset(self) -> None:
        """Fail the request, as nobody answers, if that reaches the client."""
        if not self._network.is_cut(self._link.client_id, self._link.server_id):
            self._link.client.after(self._network.faults.longest_delay_ms, partial(self._fail, "nobody answers there"))

    def time_out(self) -> None:
        self._fail("no answer has come in time")

    def _fail(self, reason: str) -> None:
        if self._end():
            self._network.trace.note(f"{self._link.client_id}<{self._link.server_id} {reason}")
            self._failed(reason)

    def _end(self) -> bool:
        """Whether it was open, and its client is there still."""
        was_open = not self._is_over and not self._link.is_closed
        self._is_over = True
        self._network.closed(self)
        return was_open
