"""What trust stores and key stores hold: PKCS #12, which the package cryptography reads, and JKS.

Raises ValueError where there is nothing to use; the messages do not name the file.
"""

import secrets
import ssl
import tempfile
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates, load_pkcs12

from replication.wire.client import jks
from replication.wire.client.jks import JksStore

_JCEKS_MAGIC: Final = b"\xce\xce\xce\xce"
_PEM: Final = b"-----BEGIN"


def trusted(data: bytes, password: str | None) -> list[bytes]:
    """Return the certificates that a trust store has, in DER."""
    found = _trusted_in_jks(data, password) if _is_jks(data) else _trusted_in_pkcs12(data, password)
    if not found:
        raise ValueError("it holds no certificate to trust")
    return found


def load_key(context: ssl.SSLContext, data: bytes, password: str | None, key_password: str | None) -> None:
    """Load a key store's only private key and its certificates into a context."""
    own = key_password if key_password is not None else password
    key, certificates = _key_in_jks(data, password, own) if _is_jks(data) else _key_in_pkcs12(data, password)
    # OpenSSL takes keys from files alone: in this one it is encrypted, by a password that nobody else has.
    secret = secrets.token_urlsafe()
    protected = load_der_private_key(key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(secret.encode())
    )
    chain = "".join(map(ssl.DER_cert_to_PEM_cert, certificates))
    with tempfile.NamedTemporaryFile(prefix="epochlog-", suffix=".pem") as file:
        file.write(protected + chain.encode())
        file.flush()
        context.load_cert_chain(file.name, password=secret)


def _is_jks(data: bytes) -> bool:
    if data.startswith(_JCEKS_MAGIC):
        raise ValueError(
            "it is a JCEKS store, and only PKCS12 and JKS can be read: convert it with "
            "`keytool -importkeystore -deststoretype PKCS12`"
        )
    if _PEM in data[:1_000]:
        raise ValueError("it is PEM: set the type of the store to PEM")
    return data.startswith(jks.MAGIC)


def _trusted_in_jks(data: bytes, password: str | None) -> list[bytes]:
    store = JksStore.parse(data, password)
    # As Java does, which trusts the certificates of the store's own keys, too.
    return [*store.trusted, *(key.chain[0] for key in store.keys if key.chain)]


def _key_in_jks(data: bytes, password: str | None, key_password: str | None) -> tuple[bytes, tuple[bytes, ...]]:
    keys = JksStore.parse(data, password).keys
    if len(keys) != 1:
        raise ValueError(f"it holds {len(keys)} private keys, and must hold one")
    if key_password is None:
        raise ValueError("its private key has a password, and none is given")
    return keys[0].unlocked(key_password), keys[0].chain


def _trusted_in_pkcs12(data: bytes, password: str | None) -> list[bytes]:
    store = _pkcs12(data, password)
    if store.key is not None:
        raise ValueError(
            "it holds a private key, so that not each of its certificates is one to trust: name a store of trusted "
            "certificates alone, as `keytool -importcert` makes it"
        )
    return [each.certificate.public_bytes(Encoding.DER) for each in store.additional_certs]


def _key_in_pkcs12(data: bytes, password: str | None) -> tuple[bytes, tuple[bytes, ...]]:
    store = _pkcs12(data, password)
    if store.key is None or store.cert is None:
        raise ValueError("it holds no private key with its certificate")
    key = store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    chain = [store.cert, *store.additional_certs]
    return key, tuple(each.certificate.public_bytes(Encoding.DER) for each in chain)


def _pkcs12(data: bytes, password: str | None) -> PKCS12KeyAndCertificates:
    try:
        return load_pkcs12(data, None if password is None else password.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        given = "its password is another one" if password is not None else "it has a password, and none is given"
        raise ValueError(f"it is neither PKCS12 nor JKS, or {given}: {error}") from error
