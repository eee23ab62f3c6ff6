"""Where a server listens, and how its clients have to come."""

import socket
from collections.abc import Callable
from dataclasses import dataclass

from replication.wire.addresses import Address
from replication.wire.server.authentication import Authentication, NoSasl
from replication.wire.server.call import Caller
from replication.wire.server.connections.stream import PlainStream, Stream
from replication.wire.server.connections.tls_stream import TlsStream
from replication.wire.server.security.sasl_authentication import SaslAuthentication, SaslSettings
from replication.wire.server.security.server_tls import ServerTls


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """One of `listeners`."""

    address: Address
    """Port 0 takes any that is free; an empty host all addresses of this machine."""
    name: str = "PLAINTEXT"
    """Answers name the brokers' listeners of the name by which a client came."""
    tls: ServerTls | None = None
    """How it encrypts; None: not at all."""
    sasl: SaslSettings | None = None
    """How clients log in; None: they need not."""
    advertised: Address | None = None
    """Where clients are told that it listens; without a host where it does, and of all addresses of this machine its
    name; port 0: the one that it listens on."""
    is_advertised: bool = True
    """Whether clients are told of it at all (Kafka: advertised.listeners may leave some out)."""
    is_for_brokers: bool = False
    """Whether its connections are accepted though there are max.connections already: other brokers have to get in,
    however many clients come by other listeners."""

    def streams(self) -> Callable[[socket.socket, float | None], Stream]:
        """Return what makes the stream of a socket that was accepted, and may be idle for so many seconds.

        InvalidSettingsError where a file of TLS cannot be used.
        """
        if self.tls is None:
            return PlainStream
        context, seconds = self.tls.context(), self.tls.handshake_timeout_ms / 1_000
        return lambda connected, idle_seconds: TlsStream(connected, context, seconds, idle_seconds)

    def authentication(self, caller: Caller) -> Authentication:
        """Return what knows who a caller is."""
        return NoSasl(caller) if self.sasl is None else SaslAuthentication(caller, self.sasl)
