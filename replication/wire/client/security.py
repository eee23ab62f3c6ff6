"""Encryption and authentication of a connection."""

import ssl
from dataclasses import dataclass, field
from enum import Enum
from os import PathLike, fspath
from pathlib import Path

from replication.wire.client.java_store import JavaStore
from replication.wire.errors import InvalidSettingsError


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

    @property
    def mechanism_name(self) -> str:
        """As brokers know it."""
        return self.mechanism.value


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """Which certificates to trust, and the client's own: in PEM, or in stores as Java has them."""

    ca: str | PathLike[str] | None = None
    """Certificates of the authorities to trust; None: those of `trust_store`, or that the system trusts (Kafka: \
ssl.truststore.location)."""
    certificate: str | PathLike[str] | None = None
    """The client's certificate, if the broker asks for one (Kafka: ssl.keystore.location)."""
    key: str | PathLike[str] | None = None
    """The private key of the client's certificate; None: it is in the same file."""
    key_password: str | None = field(default=None, repr=False)
    trust_store: JavaStore | None = None
    """Instead of `ca` (Kafka: ssl.truststore.type PKCS12 or JKS)."""
    key_store: JavaStore | None = None
    """Instead of `certificate` and `key` (Kafka: ssl.keystore.type PKCS12 or JKS)."""
    check_hostname: bool = True
    """Whether the broker's certificate must be for the host that was asked for (Kafka: \
ssl.endpoint.identification.algorithm)."""

    def context(self) -> ssl.SSLContext:
        """Return the standard library's context. Raises InvalidSettingsError if a file cannot be used."""
        if self.key and not self.certificate:
            raise InvalidSettingsError(f"{fspath(self.key)} is a private key without a certificate: name that too")
        if (self.ca and self.trust_store) or (self.certificate and self.key_store):
            raise InvalidSettingsError("certificates are named both in PEM and in a Java store: name one of them")
        _must_be_readable(self.ca, self.certificate, self.key)
        context = self._trusting()
        # Some builds leave that to OpenSSL's configuration. Kafka: ssl.enabled.protocols.
        context.minimum_version = max(context.minimum_version, ssl.TLSVersion.TLSv1_2)
        context.check_hostname = self.check_hostname
        if self.certificate:
            self._load_own(context, self.certificate)
        if self.key_store:
            self.key_store.load_into(context)
        return context

    def _trusting(self) -> ssl.SSLContext:
        trusted = self.trust_store.trusted() if self.trust_store else None
        named = self.ca if self.trust_store is None else self.trust_store.path
        try:
            context = ssl.create_default_context(cafile=self.ca, cadata=trusted)
        except (OSError, ValueError) as error:
            kind = "PEM certificates" if self.trust_store is None else "X.509 certificates"
            raise InvalidSettingsError(f"{named}: not {kind}: {error}") from error
        if self.trust_store is not None:
            # For Java each certificate of a trust store is an anchor, also one that another authority signed.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
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
