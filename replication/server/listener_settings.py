"""Where a server listens, and how its clients have to come."""

import socket
from dataclasses import dataclass

from replication.protocol.addresses import Address
from replication.server.stream import PlainStream, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """One of `listeners`."""

    address: Address
    """Port 0 takes any that is free; an empty host all addresses of this machine."""
    name: str = "PLAINTEXT"
    """Answers name the brokers' listeners of the name by which a client came."""

    def stream(self, connected: socket.socket, idle_seconds: float | None) -> Stream:
        """Return the bytes of a connection that was accepted; errors of its socket."""
        return PlainStream(connected, idle_seconds)
