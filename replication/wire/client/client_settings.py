"""Settings of the client; Kafka's name for each is that of the Java client's property."""

from dataclasses import dataclass, replace
from typing import Final, Self

from replication.wire.client.oauth import OAuthSettings
from replication.wire.client.security import SaslSettings, TlsSettings
from replication.wire.encoding.framing import DEFAULT_LIMIT

DEFAULT_CLIENT_ID: Final = "epochlog"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings of all connections to one cluster."""

    client_id: str = DEFAULT_CLIENT_ID
    """The name that brokers log, and apply quotas to (Kafka: client.id)."""
    connect_timeout_ms: int = 10_000
    """Milliseconds to wait for a connection (Kafka: socket.connection.setup.timeout.ms)."""
    request_timeout_ms: int = 30_000
    """Milliseconds to wait for a response unless a call says otherwise (Kafka: request.timeout.ms)."""
    max_response_bytes: int = DEFAULT_LIMIT
    """Larger responses, in bytes, are refused."""
    tls: TlsSettings | None = None
    """None: no encryption (Kafka: security.protocol, ssl.*)."""
    sasl: SaslSettings | OAuthSettings | None = None
    """None: no authentication other than by certificate (Kafka: security.protocol, sasl.*)."""

    def within(self, timeout_ms: int) -> Self:
        """Return these settings, by which neither a connection nor a response is waited for any longer than that."""
        return replace(
            self,
            connect_timeout_ms=min(self.connect_timeout_ms, timeout_ms),
            request_timeout_ms=min(self.request_timeout_ms, timeout_ms),
        )
