"""SASL clients, as generators: they yield what to send, are sent what the broker answers, and end when that is right.

PLAIN is RFC 4616; SCRAM is RFC 5802 with the hashes of RFC 7677, without channel binding and, as Kafka does, without
SASLprep: names and passwords are taken as they are, in UTF-8. OAUTHBEARER is RFC 7628.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Generator, Mapping
from typing import Final, TypeAlias

from replication.wire.client.oauth import BearerLogin
from replication.wire.client.security import SaslMechanism, SaslSettings
from replication.wire.errors import AuthenticationFailedError

SaslClient: TypeAlias = Generator[bytes, bytes, None]
Login: TypeAlias = SaslSettings | BearerLogin
"""How to log in, with what that takes."""

MIN_ITERATIONS: Final = 4_096
"""Fewer would let whoever recorded the exchange try passwords too fast (RFC 7677)."""

MAX_ITERATIONS: Final = 10_000_000
"""More would let a hostile server keep this side busy."""

_HASHES: Final[Mapping[SaslMechanism, str]] = {
    SaslMechanism.SCRAM_SHA_256: "sha256",
    SaslMechanism.SCRAM_SHA_512: "sha512",
}
_NONCE_BYTES: Final = 24
_NO_CHANNEL_BINDING: Final = "n,,"


def sasl_client(settings: Login) -> SaslClient:
    """Return the client for the mechanism."""
    if isinstance(settings, BearerLogin):
        return _bearer(settings)
    if settings.mechanism is SaslMechanism.PLAIN:
        return _plain(settings)
    return scram(settings, secrets.token_urlsafe(_NONCE_BYTES))


def _plain(settings: SaslSettings) -> SaslClient:
    if "\0" in settings.username + settings.password:
        raise AuthenticationFailedError("PLAIN does not allow a zero byte in a user name or password")
    yield f"\0{settings.username}\0{settings.password}".encode()


def _bearer(login: BearerLogin) -> SaslClient:
    refusal = yield f"n,,\x01auth=Bearer {login.token}\x01\x01".encode()
    if refusal:
        # The broker says why as an error only after this.
        yield b"\x01"
        raise AuthenticationFailedError(f"the broker refuses the token of {login.username}", "ask for another scope?")


def scram(settings: SaslSettings, nonce: str) -> SaslClient:
    """Return the SCRAM client with this nonce; AuthenticationFailedError where the server's part is not right."""
    digest = _HASHES[settings.mechanism]
    client_first = f"n={_escaped(settings.username)},r={nonce}"
    server_first = _text((yield (_NO_CHANNEL_BINDING + client_first).encode()))
    told = _attributes(server_first)
    full_nonce = told.get("r", "")
    if not full_nonce.startswith(nonce) or len(full_nonce) == len(nonce):
        raise _distrust("its nonce does not continue ours")
    salted = _salted(digest, settings.password, _base64(told.get("s", "")), _iterations(told.get("i", "")))
    without_proof = f"c={base64.b64encode(_NO_CHANNEL_BINDING.encode()).decode()},r={full_nonce}"
    message = f"{client_first},{server_first},{without_proof}".encode()
    proof = base64.b64encode(_proof(digest, salted, message)).decode()
    server_final = _attributes(_text((yield f"{without_proof},p={proof}".encode())))
    if "e" in server_final:
        raise AuthenticationFailedError(f"the broker says {server_final['e']}")
    server_key = hmac.digest(salted, b"Server Key", digest)
    if not hmac.compare_digest(_base64(server_final.get("v", "")), hmac.digest(server_key, message, digest)):
        raise _distrust("it does not prove that it knows the password")


def _salted(digest: str, password: str, salt: bytes, iterations: int) -> bytes:
    if not salt:
        raise _distrust("it has no salt")
    return hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)


def _proof(digest: str, salted: bytes, message: bytes) -> bytes:
    client_key = hmac.digest(salted, b"Client Key", digest)
    signature = hmac.digest(hashlib.new(digest, client_key).digest(), message, digest)
    return bytes(key ^ sign for key, sign in zip(client_key, signature, strict=True))


def _escaped(username: str) -> str:
    return username.replace("=", "=3D").replace(",", "=2C")


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise _distrust("its message is not UTF-8") from None


def _attributes(message: str) -> dict[str, str]:
    attributes = dict(part.split("=", 1) for part in message.split(",") if "=" in part)
    if "m" in attributes:
        raise _distrust("it asks for an unsupported extension")
    return attributes


def _iterations(text: str) -> int:
    iterations = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise _distrust(f"it asks for {text!r} iterations, not for {MIN_ITERATIONS:,} to {MAX_ITERATIONS:,}")
    return iterations


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _distrust("its message is not in base64") from None


def _distrust(reason: str) -> AuthenticationFailedError:
    return AuthenticationFailedError(f"the broker's SCRAM message cannot be trusted: {reason}")
