"""Where a Java client's certificates are: a trust store or key store, PKCS #12 or JKS."""

import ssl
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path

from replication.wire.errors import InvalidSettingsError


@dataclass(frozen=True, slots=True)
class JavaStore:
    """A file that keytool writes, and its passwords. Its content says what it is, as for Java."""

    path: str | PathLike[str]
    password: str | None = field(default=None, repr=False)
    """None: a JKS is not checked for changes, and a PKCS #12 is expected to have none (Kafka: \
ssl.truststore.password, ssl.keystore.password)."""
    key_password: str | None = field(default=None, repr=False)
    """None: it is the store's; a PKCS #12 has no other (Kafka: ssl.key.password)."""

    def trusted(self) -> bytes:
        """Return the certificates to trust, in DER, one after the other. Raises InvalidSettingsError."""
        # What it imports is slow to load, and few have such stores.
        from replication.wire.client import store_content  # noqa: PLC0415

        try:
            return b"".join(store_content.trusted(self._read(), self.password))
        except ValueError as error:
            raise self._unusable(str(error)) from error

    def load_into(self, context: ssl.SSLContext) -> None:
        """Load the store's private key into a context, which identifies itself with it. Raises InvalidSettingsError."""
        from replication.wire.client import store_content  # noqa: PLC0415  as above

        try:
            store_content.load_key(context, self._read(), self.password, self.key_password)
        except (OSError, ValueError) as error:
            raise self._unusable(str(error)) from error

    def _read(self) -> bytes:
        try:
            return Path(self.path).read_bytes()
        except OSError as error:
            raise ValueError(error.strerror or str(error)) from error

    def _unusable(self, reason: str) -> InvalidSettingsError:
        return InvalidSettingsError(f"{fspath(self.path)}: {reason}")
