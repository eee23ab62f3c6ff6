"""How a listener encrypts, and which certificates it asks for."""

import ssl
from dataclasses import dataclass, field
from enum import Enum
from os import PathLike, fspath

from replication.wire.errors import InvalidSettingsError


class ClientAuth(Enum):
    """Whether clients have to have a certificate (Kafka: ssl.client.auth)."""

    NONE = "none"
    REQUESTED = "requested"
    """One that is shown has to be right; who shows none is anonymous."""
    REQUIRED = "required"


_VERIFY = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTls:
    """The server's certificate, and who signs its clients'; all files are in PEM."""

    certificate: str | PathLike[str]
    """With those between it and its authority's (Kafka: ssl.keystore.location)."""
    key: str | PathLike[str] | None = None
    """Its private key; None: it is in the same file."""
    key_password: str | None = field(default=None, repr=False)
    """Kafka: ssl.key.password."""
    client_ca: str | PathLike[str] | None = None
    """Certificates of the authorities that sign clients' (Kafka: ssl.truststore.location)."""
    client_auth: ClientAuth = ClientAuth.NONE
    """Who shows a certificate is known by its subject, such as `User:CN=alice,O=Example`."""
    handshake_timeout_ms: int = 30_000
    """How long the handshake may take, in the connection's own thread; Kafka has no such limit."""

    def context(self) -> ssl.SSLContext:
        """Return the standard library's context. Raises InvalidSettingsError if a file cannot be used."""
        if self.client_auth is not ClientAuth.NONE and self.client_ca is None:
            raise InvalidSettingsError(
                f"ssl.client.auth is {self.client_auth.value}: name the authorities that sign clients' certificates"
            )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = _VERIFY[self.client_auth]
        self._load_own(context)
        self._load_authorities(context)
        return context

    def _load_own(self, context: ssl.SSLContext) -> None:
        try:
            # Without a password OpenSSL would ask on the terminal.
            context.load_cert_chain(self.certificate, self.key, self.key_password or "")
        except (OSError, ValueError) as error:
            raise InvalidSettingsError(
                f"{fspath(self.certificate)}: not a PEM certificate with its private key, or the password is wrong: "
                f"{error}"
            ) from error

    def _load_authorities(self, context: ssl.SSLContext) -> None:
        if self.client_ca is None:
            return
        try:
            context.load_verify_locations(self.client_ca)
        except (OSError, ValueError) as error:
            raise InvalidSettingsError(f"{fspath(self.client_ca)}: not PEM certificates: {error}") from error
