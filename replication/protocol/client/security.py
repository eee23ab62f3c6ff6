"""Encryption and authentication of a connection."""

import ssl
from dataclasses import dataclass, field
from enum import Enum
from os import PathLike, fspath
from pathlib import Path

from replication.protocol.errors import InvalidSettingsError


class SaslMechanism(Enum):
    """How a client authenticates (Kafka: sasl.mechanism)."""

    PLAIN = "PLAIN"
    """Sends the password: use it only over TLS, unless the network is trusted (RFC 4616)."""
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    """Proves to know the password, and has the broker prove it too (RFC 5802, RFC 7677)."""
    SCRAM_SHA_512 = "SCRAM-SHA-512"


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """A user and a password (Kafka: sasl.jaas.config)."""

    mechanism: SaslMechanism
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """Which certificates to trust, and the client's own; all files in PEM."""

    ca: str | PathLike[str] | None = None
    """Certificates of the authorities to trust; None: those that the system trusts (Kafka: ssl.truststore.location)."""
    certificate: str | PathLike[str] | None = None
    """The client's certificate, if the broker asks for one (Kafka: ssl.keystore.location)."""
    key: str | PathLike[str] | None = None
    """The private key of the client's certificate; None: it is in the same file."""
    key_password: str | None = field(default=None, repr=False)
    check_hostname: bool = True
    """Whether the broker's certificate must be for the host that was asked for (Kafka: \
ssl.endpoint.identification.algorithm)."""

    def context(self) -> ssl.SSLContext:
        """Return the standard library's context. Raises InvalidSettingsError if a file cannot be used."""
        if self.key and not self.certificate:
            raise InvalidSettingsError(f"{fspath(self.key)} is a private key without a certificate: name that too")
        _must_be_readable(self.ca, self.certificate, self.key)
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except (OSError, ValueError) as error:
            raise InvalidSettingsError(f"{self.ca}: not PEM certificates: {error}") from error
        # Some builds leave that to OpenSSL's configuration. Kafka: ssl.enabled.protocols.
        context.minimum_version = max(context.minimum_version, ssl.TLSVersion.TLSv1_2)
        context.check_hostname = self.check_hostname
        if self.certificate:
            self._load_own(context, self.certificate)
        return context

    def _load_own(self, context: ssl.SSLContext, certificate: str | PathLike[str]) -> None:
        try:
            # Without a password OpenSSL would ask on the terminal.
            context.load_cert_chain(certificate, self.key, self.key_password or "")
        except (OSError, ValueError) as error:
            raise InvalidSettingsError(
                f"{fspath(certificate)}: not a PEM certificate with its private key, or the password is wrong: {error}"
            ) from error


def _must_be_readable(*paths: str | PathLike[str] | None) -> None:
    for path in paths:
        if path is not None and not Path(path).is_file():
            raise InvalidSettingsError(f"{fspath(path)}: no such file")
