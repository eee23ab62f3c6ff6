"""What a server keeps of a password (RFC 5802, RFC 7677)."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from replication.wire.client.security import SaslMechanism

ITERATIONS: Final = 4_096
"""Of what is made of a password (Kafka: the least that it allows)."""
SALT_BYTES: Final = 16
DIGESTS: Final = {SaslMechanism.SCRAM_SHA_256: "sha256", SaslMechanism.SCRAM_SHA_512: "sha512"}


class ScramShape(NamedTuple):
    """What distinguishes credentials before a login: an unknown user must not be recognized by it."""

    iterations: int
    salt_bytes: int


DEFAULT_SHAPE: Final = ScramShape(ITERATIONS, SALT_BYTES)
"""Of what is made of a password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredential:
    """Enough to check a password or a proof of it, and to prove that the server has this (Kafka: ScramCredential)."""

    digest: str
    """sha256 or sha512."""
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int = ITERATIONS
    is_nobodys: bool = False
    """Whether there is no such user."""

    @property
    def shape(self) -> ScramShape:
        """What anybody learns of it who asks."""
        return ScramShape(self.iterations, len(self.salt))

    @classmethod
    def of(cls, password: str, digest: str, salt: bytes, iterations: int = ITERATIONS) -> Self:
        """Return what to keep of a password."""
        salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)
        return cls(
            digest=digest,
            salt=salt,
            stored_key=_stored(hmac.digest(salted, b"Client Key", digest), digest),
            server_key=hmac.digest(salted, b"Server Key", digest),
            iterations=iterations,
        )

    @classmethod
    def of_nobody(cls, digest: str, salt: bytes, iterations: int = ITERATIONS) -> Self:
        """Return one that no password fits, and that takes as long as others to find out."""
        size = hashlib.new(digest).digest_size
        unknown = secrets.token_bytes(size)
        return cls(
            digest=digest,
            salt=salt,
            stored_key=unknown,
            server_key=unknown,
            iterations=iterations,
            is_nobodys=True,
        )

    def fits(self, password: str) -> bool:
        """Whether it was made of this password."""
        made = ScramCredential.of(password, self.digest, self.salt, self.iterations)
        return hmac.compare_digest(made.stored_key, self.stored_key)

    def proves(self, proof: bytes, message: bytes) -> bool:
        """Whether whoever made this proof of a message knows the password."""
        signature = hmac.digest(self.stored_key, message, self.digest)
        if len(proof) != len(signature):
            return False
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        return hmac.compare_digest(_stored(client_key, self.digest), self.stored_key)

    def signature(self, message: bytes) -> bytes:
        """Return the server's own proof of a message."""
        return hmac.digest(self.server_key, message, self.digest)


def _stored(client_key: bytes, digest: str) -> bytes:
    return hashlib.new(digest, client_key).digest()
