"""A server: listeners, and the connections that come by them."""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Final, Self

from replication.base.owned_by_process import OwnedByProcess
from replication.wire.addresses import Address
from replication.wire.server.connections.complaints import Complaints
from replication.wire.server.connections.connection import Surroundings
from replication.wire.server.connections.idle_connections import IdleConnections
from replication.wire.server.connections.listener import Listener
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.connections.open_connections import OpenConnections
from replication.wire.server.connections.request_memory import RequestMemory
from replication.wire.server.offered_versions import Features, OfferedVersions
from replication.wire.server.request_times import RequestTimes
from replication.wire.server.served_api import ServedApis
from replication.wire.server.server_limits import ServerLimits

_STOP_SECONDS: Final = 5.0


class Server(OwnedByProcess):
    """Answers Kafka's clients, each connection in a thread of its own while it is asked something.

    With threads an answer that takes long in Python delays others by milliseconds, where in one event loop it holds up
    all of them; and logs wait for locks and for disks, which would do the same.

    >>> from replication.wire.addresses import Address
    >>> with Server([ListenerSettings(address=Address("127.0.0.1", 0))]) as server:
    ...     server.start({})
    ...     server.addresses["PLAINTEXT"].host
    '127.0.0.1'

    A process that is forked from this one has none of the threads: there it lets go of the ports, and does nothing.
    """

    def __init__(self, listeners: Sequence[ListenerSettings], limits: ServerLimits | None = None) -> None:
        """Listen, so that the ports are known; clients are answered once it is started.

        Raises CannotListenError, or InvalidSettingsError where a file of TLS cannot be used.
        """
        super().__init__()
        self._limits: Final = limits or ServerLimits()
        self._connections: Final = OpenConnections(self._limits)
        self._memory: Final = RequestMemory(self._limits.queued_max_request_bytes)
        self._idle: IdleConnections | None = None
        self.request_times: Final = RequestTimes()
        """What it has answered."""
        self._listeners: Final[dict[str, Listener]] = {}
        try:
            for settings in listeners:
                self._listeners[settings.name] = Listener(settings)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    @property
    def addresses(self) -> Mapping[str, Address]:
        """Where it listens, by the listener's name, with the ports that were taken."""
        return MappingProxyType({name: listener.address for name, listener in self._listeners.items()})

    @property
    def connection_count(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    @property
    def connection_counts(self) -> Mapping[str, int]:
        """How many of them came by each listener, by its name."""
        return {name: self._connections.count(name) for name in self._listeners}

    def start(self, apis: ServedApis, features: Callable[[], Features] = Features) -> None:
        """Answer these APIs, and those by which a connection begins. Raises ResourceLimitError for want of threads."""
        self._ensure_own()
        self._idle = idle = IdleConnections()
        idle.start(f"epochlog-{next(iter(self._listeners), 'server')}-idle")
        surroundings = Surroundings(
            apis,
            OfferedVersions(apis, features),
            self._limits,
            self._memory,
            self._connections,
            idle,
            Complaints(),
            self.request_times,
        )
        for listener in self._listeners.values():
            listener.start(surroundings)

    def stop(self) -> None:
        """End all connections and threads, within some seconds; it may be called again.

        Only a request that is just being answered takes longer, where its answer does: its thread ends with it.
        """
        if self._is_inherited:
            return
        until = time.monotonic() + _STOP_SECONDS
        self._memory.close()
        self._connections.close(until)
        for listener in self._listeners.values():
            listener.stop(max(0.0, until - time.monotonic()))
        if self._idle is not None:
            self._idle.stop(max(0.0, until - time.monotonic()))

    def detach(self) -> None:
        """Close the ports, in a forked process."""
        super().detach()
        for listener in self._listeners.values():
            listener.forget()
        if self._idle is not None:
            self._idle.forget()

    def _described(self) -> str:
        return f"the server on {', '.join(map(str, self.addresses.values()))}"
