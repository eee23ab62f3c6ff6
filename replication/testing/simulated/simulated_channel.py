"""A client's way to one node: it connects anew after each failure."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from replication.testing.simulated.network import Link, Network, Reply
from replication.testing.simulated.process import Process


class SimulatedChannel:
    """What is asked by it is answered, or has failed, before it is asked again."""

    def __init__(
        self, network: Network, client: Process, nodes: tuple[int, int], *, timeout_ms: int, arrives_late: bool = False
    ) -> None:
        """Between a client and a server; see `Link`."""
        self._network: Final = network
        self._client: Final = client
        self._nodes: Final = nodes
        self._timeout_ms: Final = timeout_ms
        self._arrives_late: Final = arrives_late
        self._link: Link | None = None

    def ask(self, request: Any, answered: Reply, failed: Callable[[str], object]) -> None:
        """Send a request. What waits on the same connection as one that fails hears nothing."""
        link = self._link
        if link is None or link.is_closed:
            link = self._link = Link(self._network, self._client, self._nodes, arrives_late=self._arrives_late)
        link.ask(request, answered, partial(self._lost, link, failed), self._timeout_ms)

    def close(self) -> None:
        """Expect no answer any more."""
        if self._link is not None:
            self._link.close()

    def _lost(self, link: Link, failed: Callable[[str], object], reason: str) -> None:
        link.close()
        failed(reason)
