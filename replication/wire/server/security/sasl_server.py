"""SASL servers, as generators: they are sent what the client says, yield what it is answered, and return who it is.

PLAIN is RFC 4616; SCRAM is RFC 5802 with the hashes of RFC 7677, without channel binding and without SASLprep, as the
client of ours has it. Whoever is not known is asked as others are, and refused as late.
"""

import base64
import binascii
import secrets
from collections.abc import Generator
from typing import Final, NamedTuple, TypeAlias

from replication.wire.client.security import SaslMechanism
from replication.wire.server.security.scram_credential import DIGESTS
from replication.wire.server.security.users import Users

_NONCE_BYTES: Final = 24
_PARTS_OF_PLAIN: Final = 3
_WRONG_PASSWORD: Final = "Authentication failed: Invalid username or password"  # noqa: S105  what is told
_ACTING_AS_ANOTHER: Final = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


class LoggedIn(NamedTuple):
    """How it ends well."""

    username: str
    last: bytes
    """What the client is answered still."""


class LoginRefusedError(Exception):
    """How it does not; what is said tells nobody whether the user exists."""

    def __init__(self, reason: str, told: str = "") -> None:
        """Create it with the reason and Kafka's message for the client; by default the one for wrong credentials."""
        super().__init__(reason)
        self.told = told


SaslServer: TypeAlias = Generator[bytes, bytes, LoggedIn]


def sasl_server(mechanism: SaslMechanism, users: Users) -> SaslServer:
    """Return the server for a mechanism; the first thing that it yields is nothing."""
    if mechanism is SaslMechanism.PLAIN:
        return _plain(users)
    return scram(users, DIGESTS[mechanism], secrets.token_urlsafe(_NONCE_BYTES))


def _plain(users: Users) -> SaslServer:
    parts = _text((yield b""), told=_WRONG_PASSWORD).split("\0")
    if len(parts) != _PARTS_OF_PLAIN:
        raise _refused(f"Invalid SASL/PLAIN response: expected {_PARTS_OF_PLAIN} tokens, got {len(parts)}")
    acting_as, username, password = parts
    if not username or not password:
        raise _refused(f"Authentication failed: {'password' if username else 'username'} not specified")
    if not users.credential(username, None).fits(password):
        raise _refused(_WRONG_PASSWORD)
    if acting_as not in {"", username}:
        raise _refused(_ACTING_AS_ANOTHER)
    return LoggedIn(username, b"")


def _refused(told: str) -> LoginRefusedError:
    return LoginRefusedError(told, told)


def scram(users: Users, digest: str, nonce: str) -> SaslServer:
    """Return the SCRAM server that continues the client's nonce by this one."""
    binding, acting_as, client_first = _client_first(_text((yield b"")))
    told = _attributes(client_first)
    username = _unescaped(told.get("n", ""))
    if not username or not told.get("r"):
        raise LoginRefusedError("SCRAM begins with a user name and a nonce")
    if acting_as not in {"", f"a={told['n']}"}:
        raise _refused(_ACTING_AS_ANOTHER)
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


def _text(message: bytes, told: str = "") -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise LoginRefusedError("a message is not in UTF-8", told) from None


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise LoginRefusedError("a message is not in base64") from None
