"""Where a server listens, and how its clients have to come."""

import socket
from dataclasses import dataclass

from replication.protocol.addresses import Address
from replication.server.authentication import Authentication, NoSasl
from replication.server.call import Caller
from replication.server.security.sasl_authentication import SaslAuthentication, SaslSettings
from replication.server.stream import PlainStream, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """One of `listeners`."""

    address: Address
    """Port 0 takes any that is free; an empty host all addresses of this machine."""
    name: str = "PLAINTEXT"
    """Answers name the brokers' listeners of the name by which a client came."""
    sasl: SaslSettings | None = None
    """How clients log in; None: they need not."""

    def stream(self, connected: socket.socket, idle_seconds: float | None) -> Stream:
        """Return the bytes of a connection that was accepted; errors of its socket."""
        return PlainStream(connected, idle_seconds)

    def authentication(self, caller: Caller) -> Authentication:
        """Return what knows who a caller is."""
        return NoSasl(caller) if self.sasl is None else SaslAuthentication(caller, self.sasl)
