"""Where connections come in."""

import logging
import socket
from threading import Thread
from typing import Final

from epoch.base.resource_limits import no_more_threads
from replication.base.errors import ReplicationError
from replication.wire.addresses import Address
from replication.wire.server.connections.connection import Connection, Surroundings
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.connections.stream import shut_down

_LOGGER: Final = logging.getLogger("epochlog.server")
_BACKLOG: Final = 4_096
"""Connections that the system keeps until they are accepted, as long as the machine allows as many (Kafka's 50).

Those that find no room try again a second later, two after that, and so on; some wait for a minute.
"""
_REST_SECONDS: Final = 1.0
"""After an accept that failed, unless a connection ends before."""


class CannotListenError(ReplicationError, OSError):
    """An address cannot be listened on."""

    def __init__(self, address: Address, error: Exception) -> None:
        why = getattr(error, "strerror", None) or error
        super().__init__(
            f"{address}: cannot listen: {why}; choose an address of this machine, and a port that is free and allowed"
        )


class Listener:
    """One address, and the thread that accepts its connections."""

    def __init__(self, settings: ListenerSettings) -> None:
        """Listen; clients wait until it is started. Raises CannotListenError, or InvalidSettingsError of TLS."""
        self._settings: Final = settings
        self._streams: Final = settings.streams()
        self._socket: Final = _listening(settings.address)
        host, port = self._socket.getsockname()[:2]
        self.address: Final = Address(host, port)
        """With the port that was taken."""
        self._thread: Thread | None = None

    def start(self, surroundings: Surroundings) -> None:
        """Accept connections. Raises ResourceLimitError where the process may have no more threads."""
        name = f"epochlog-{self._settings.name}-accept"
        thread = Thread(target=self._run, args=(surroundings,), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise no_more_threads(error) from error
        self._thread = thread

    def stop(self, seconds: float) -> None:
        """Accept no more, and wait for the thread."""
        shut_down(self._socket)
        if self._thread is not None:
            self._thread.join(seconds)
        self._socket.close()

    def forget(self) -> None:
        """Close the socket alone: in a forked process, which would keep the port from being free."""
        self._socket.close()

    def _run(self, surroundings: Surroundings) -> None:
        connections = surroundings.connections
        is_failing = False
        while not connections.is_closed:
            if not self._settings.is_for_brokers:
                connections.wait_for_room()
            try:
                connected, peer = self._socket.accept()
            except OSError as error:
                if not (is_failing or connections.is_closed):
                    _LOGGER.warning("%s accepts no connection for now: %s", self.address, error)
                is_failing = True
                connections.wait_for_end(_REST_SECONDS)
                continue
            is_failing = False
            self._begin(connected, Address(*peer[:2]), surroundings)

    def _begin(self, connected: socket.socket, peer: Address, surroundings: Surroundings) -> None:
        """Start the connection, or close it where it may not stay."""
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            stream = self._streams(connected, surroundings.limits.idle_seconds)
        except OSError as error:
            _LOGGER.debug("%s was gone at once: %s", peer, error)
            connected.close()
            return
        connection = Connection(stream, peer, self._settings, surroundings)
        if not surroundings.connections.add(connection, waits=not self._settings.is_for_brokers):
            stream.close()
            if not surroundings.connections.is_closed:
                surroundings.complaints.tell(peer.host, "connections", "it has max.connections.per.ip already")
            return
        connection.start()


def _listening(address: Address) -> socket.socket:
    try:
        found = socket.getaddrinfo(address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, where = found[0]
        return socket.create_server(where[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError, OverflowError) as error:
        raise CannotListenError(address, error) from error
