"""Nobody, where users come from elsewhere."""

import hmac
import secrets
from typing import Final

from replication.server.security.scram_credential import SALT_BYTES, ScramCredential

_PLAIN_DIGEST: Final = "sha256"


class NoUsers:
    """Whoever logs in is asked as others are, with the same salt each time, and refused."""

    def __init__(self) -> None:
        """Choose the secret that salts are made of."""
        self._secret: Final = secrets.token_bytes(32)

    def credential(self, name: str, digest: str | None) -> ScramCredential:
        """Return one that nobody can use."""
        salt = hmac.digest(self._secret, name.encode(), "sha256")[:SALT_BYTES]
        return ScramCredential.of_nobody(digest or _PLAIN_DIGEST, salt)
