"""SASL servers, as generators: they are sent what the client says, yield what it is answered, and return who it is.

PLAIN is RFC 4616; SCRAM is RFC 5802 with the hashes of RFC 7677, without channel binding and without SASLprep, as the
client of ours has it. Whoever is not known is asked as others are, and refused as late.
"""

import base64
import binascii
import secrets
from collections.abc import Generator
from typing import Final, NamedTuple, TypeAlias

from replication.protocol.client.security import SaslMechanism
from replication.server.security.scram_credential import DIGESTS
from replication.server.security.users import Users

_NONCE_BYTES: Final = 24
_PARTS_OF_PLAIN: Final = 3


class LoggedIn(NamedTuple):
    """How it ends well."""

    username: str
    last: bytes
    """What the client is answered still."""


class LoginRefusedError(Exception):
    """How it does not; what is said tells nobody whether the user exists."""


SaslServer: TypeAlias = Generator[bytes, bytes, LoggedIn]


def sasl_server(mechanism: SaslMechanism, users: Users) -> SaslServer:
    """Return the server for a mechanism; the first thing that it yields is nothing."""
    if mechanism is SaslMechanism.PLAIN:
        return _plain(users)
    return scram(users, DIGESTS[mechanism], secrets.token_urlsafe(_NONCE_BYTES))


def _plain(users: Users) -> SaslServer:
    parts = _text((yield b"")).split("\0")
    if len(parts) != _PARTS_OF_PLAIN or not all(parts[1:]):
        raise LoginRefusedError("a message of PLAIN has a user name and a password")
    acting_as, username, password = parts
    is_right = users.credential(username, None).fits(password)
    if not is_right or acting_as not in {"", username}:
        raise LoginRefusedError("Invalid username or password")
    return LoggedIn(username, b"")


def scram(users: Users, digest: str, nonce: str) -> SaslServer:
    """Return the SCRAM server that continues the client's nonce by this one."""
    binding, acting_as, client_first = _client_first(_text((yield b"")))
    told = _attributes(client_first)
    username = _unescaped(told.get("n", ""))
    if not username or not told.get("r") or acting_as not in {"", f"a={told['n']}"}:
        raise LoginRefusedError("SCRAM begins with a user name and a nonce")
    credential = users.credential(username, digest)
    full_nonce = told["r"] + nonce
    salt = base64.b64encode(credential.salt).decode()
    server_first = f"r={full_nonce},s={salt},i={credential.iterations}"
    client_final = _text((yield server_first.encode()))
    without_proof, _, proof = client_final.rpartition(",p=")
    message = f"{client_first},{server_first},{without_proof}".encode()
    answered = _attributes(without_proof)
    is_proven = credential.proves(_base64(proof), message)
    if not is_proven or answered.get("r") != full_nonce or _base64(answered.get("c", "")) != binding:
        raise LoginRefusedError("invalid credentials")
    return LoggedIn(username, b"v=" + base64.b64encode(credential.signature(message)))


def _client_first(message: str) -> tuple[bytes, str, str]:
    """Return what stands for channel binding, whom the client wants to act as, and the rest."""
    parts = message.split(",", 2)
    if len(parts) != _PARTS_OF_PLAIN or parts[0] not in {"n", "y"}:
        raise LoginRefusedError("SCRAM is spoken here without channel binding")
    return f"{parts[0]},{parts[1]},".encode(), parts[1], parts[2]


def _attributes(message: str) -> dict[str, str]:
    attributes = dict(part.split("=", 1) for part in message.split(",") if "=" in part)
    if "m" in attributes:
        raise LoginRefusedError("no extension of SCRAM is supported")
    return attributes


def _unescaped(username: str) -> str:
    if "=" in username.replace("=2C", "").replace("=3D", ""):
        raise LoginRefusedError("a user name has = other than in =2C and =3D")
    return username.replace("=2C", ",").replace("=3D", "=")


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise LoginRefusedError("a message is not in UTF-8") from None


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise LoginRefusedError("a message is not in base64") from None
