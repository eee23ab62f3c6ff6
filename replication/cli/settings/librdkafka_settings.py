"""A Java client's properties, as librdkafka takes them: confluent-kafka's names and forms for the same."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.java_store import JavaStore
from replication.wire.client.oauth import OAuthSettings
from replication.wire.client.security import SaslSettings, TlsSettings
from replication.wire.errors import InvalidSettingsError

_JKS: Final = bytes.fromhex("feedfeed")
_PROTOCOLS: Final = {
    # By whether TLS, whether SASL.
    (False, False): "PLAINTEXT",
    (True, False): "SSL",
    (False, True): "SASL_PLAINTEXT",
    (True, True): "SASL_SSL",
}


def librdkafka_settings(bootstrap: str, settings: ClientSettings) -> dict[str, Any]:
    """Return the settings of a client that connects to `bootstrap`. Raises InvalidSettingsError for a JKS key store."""
    taken: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "client.id": settings.client_id,
        "security.protocol": _PROTOCOLS[settings.tls is not None, settings.sasl is not None],
        "socket.connection.setup.timeout.ms": max(1_000, settings.connect_timeout_ms),
        "socket.timeout.ms": min(300_000, max(1_000, settings.request_timeout_ms)),
    }
    if settings.tls is not None:
        taken.update(_tls(settings.tls))
    if isinstance(settings.sasl, SaslSettings):
        login = settings.sasl
        taken |= {"sasl.mechanism": login.mechanism_name, "sasl.username": login.username}
        taken |= {"sasl.password": login.password}
    elif settings.sasl is not None:
        taken.update(_oauth(settings.sasl))
    return taken


def _tls(tls: TlsSettings) -> Iterator[tuple[str, Any]]:
    if tls.ca is not None:
        yield "ssl.ca.location", str(tls.ca)
    if tls.trust_store is not None:
        yield "ssl.ca.pem", _pem(tls.trust_store.trusted())
    if tls.certificate is not None:
        yield "ssl.certificate.location", str(tls.certificate)
        yield "ssl.key.location", str(tls.key or tls.certificate)
        if tls.key_password is not None:
            yield "ssl.key.password", tls.key_password
    if tls.key_store is not None:
        yield from _key_store(tls.key_store)
    if not tls.check_hostname:
        yield "ssl.endpoint.identification.algorithm", "none"


def _key_store(store: JavaStore) -> Iterator[tuple[str, str]]:
    if Path(store.path).is_file() and Path(store.path).read_bytes()[:4] == _JKS:
        raise InvalidSettingsError(
            f"{store.path}: the client that writes to a cluster reads no JKS key stores; convert it to PKCS12: "
            "keytool -importkeystore -deststoretype pkcs12"
        )
    yield "ssl.keystore.location", str(store.path)
    if store.password is not None:
        yield "ssl.keystore.password", store.password


def _pem(certificates: bytes) -> str:
    """Write certificates in PEM that follow each other in DER."""
    found = []
    while certificates:
        size = _der_size(certificates)
        found.append(ssl.DER_cert_to_PEM_cert(certificates[:size]))
        certificates = certificates[size:]
    return "".join(found)


def _der_size(der: bytes) -> int:
    """Return the bytes of the first element, by its length: short, or of as many bytes as its first one says."""
    if der[1] < 0x80:
        return 2 + der[1]
    count = der[1] & 0x7F
    return 2 + count + int.from_bytes(der[2 : 2 + count], "big")


def _oauth(login: OAuthSettings) -> Iterator[tuple[str, str]]:
    yield "sasl.mechanism", "OAUTHBEARER"
    yield "sasl.oauthbearer.method", "oidc"
    yield "sasl.oauthbearer.token.endpoint.url", login.token_endpoint
    yield "sasl.oauthbearer.client.id", login.client_id
    yield "sasl.oauthbearer.client.secret", login.client_secret
    if login.scope:
        yield "sasl.oauthbearer.scope", login.scope
