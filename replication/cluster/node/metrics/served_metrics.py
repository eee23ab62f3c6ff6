"""The metrics of a broker, served from before it starts until after it has stopped."""

from types import TracebackType
from typing import Final, Self

from prometheus_client import ProcessCollector

from replication.base.metrics_server import LOCAL, MetricsServer
from replication.cluster.node.broker_node import BrokerNode
from replication.cluster.node.metrics.broker_metrics import BrokerMetrics
from replication.cluster.node.metrics.flush_times import FlushTimes


class ServedMetrics:
    """Serves `GET /metrics`: at first of the process alone, and of the broker once it is there.

    >>> with ServedMetrics() as metrics, JoinedBroker.open(…, observer=metrics.flushes) as broker:
    ...     metrics.watch(broker.node)
    """

    def __init__(self, host: str = LOCAL, port: int = 0) -> None:
        """Listen; port 0 lets the system choose. Raises OSError if the address cannot be used."""
        self.flushes: Final = FlushTimes()
        """Is to observe the broker's logs."""
        self._server: Final = MetricsServer(host=host, port=port)
        ProcessCollector(registry=self._server.registry)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def address(self) -> str:
        """HOST:PORT with the port that is in use."""
        return self._server.address

    def watch(self, node: BrokerNode) -> None:
        """Serve a broker's metrics from now on."""
        self._server.registry.register(BrokerMetrics(node, self.flushes))

    def close(self) -> None:
        """Stop listening."""
        self._server.close()
