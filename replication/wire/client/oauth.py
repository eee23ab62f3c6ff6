"""Authentication by OAuth 2.0: a client asks a token endpoint for a token, and shows it to brokers (KIP-768)."""

import time
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from replication.wire.client.bearer_token import BearerToken, TokenHolder
from replication.wire.errors import InvalidSettingsError

OAUTHBEARER: Final = "OAUTHBEARER"


@dataclass(frozen=True, slots=True)
class BearerLogin:
    """What a broker is shown."""

    username: str
    """The client's id, for messages: brokers take the user's name from the token."""
    token: str = field(repr=False)
    mechanism_name: str = OAUTHBEARER


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """Client credentials (RFC 6749, 4.4), for the SASL mechanism OAUTHBEARER (RFC 7628)."""

    token_endpoint: str
    """Its URL (Kafka: sasl.oauthbearer.token.endpoint.url); over https the system's authorities are trusted."""
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    timeout_ms: int = 10_000
    """For the connection to the endpoint, and for each part of its response."""
    _held: TokenHolder = field(default_factory=TokenHolder, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        url = urlsplit(self.token_endpoint)
        if url.scheme not in {"http", "https"} or not url.hostname:
            raise InvalidSettingsError(f"the token endpoint {self.token_endpoint!r} is not a URL of https or http")

    def login(self) -> BearerLogin:
        """Return a token that is valid now, a new one where needed. Raises AuthenticationFailedError."""
        return BearerLogin(self.client_id, self._held.get(self._obtain, time.monotonic).value)

    def _obtain(self) -> BearerToken:
        # A client of HTTP is slow to load, and few need it.
        from replication.wire.client.token_endpoint import obtain  # noqa: PLC0415

        return obtain(self.token_endpoint, self.client_id, self.client_secret, self.scope, self.timeout_ms / 1_000)
