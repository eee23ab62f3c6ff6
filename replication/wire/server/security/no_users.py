"""Nobody, where users come from elsewhere, and whoever is not among others."""

import hashlib
import secrets
from collections.abc import Callable, Collection
from typing import Final

from replication.wire.server.security.scram_credential import DEFAULT_SHAPE, ScramCredential, ScramShape

_PLAIN_DIGEST: Final = "sha256"
_CHOICE_BYTES: Final = 8


class NoUsers:
    """Whoever logs in is asked as others are, with the same salt and iterations each time, and refused.

    Both follow from the name and a secret of this server, as RFC 5802 advises: who asks learns of no user. Once the
    server starts again the salts of those whom nobody knows are others.
    """

    def __init__(self, known: Callable[[str], Collection[ScramShape]] = lambda _: ()) -> None:
        """Choose the secret. `known` returns what the credentials of users look like that there are, by digest."""
        self._secret: Final = secrets.token_bytes(32)
        self._known: Final = known

    def credential(self, name: str, digest: str | None) -> ScramCredential:
        """Return one that nobody can use."""
        digest = digest or _PLAIN_DIGEST
        shapes = sorted(set(self._known(digest))) or [DEFAULT_SHAPE]
        longest = max(shape.salt_bytes for shape in shapes)
        made = hashlib.shake_256(self._secret + name.encode()).digest(_CHOICE_BYTES + longest)
        shape = shapes[int.from_bytes(made[:_CHOICE_BYTES]) % len(shapes)]
        salt = made[_CHOICE_BYTES : _CHOICE_BYTES + shape.salt_bytes]
        return ScramCredential.of_nobody(digest, salt, shape.iterations)

    def shapes(self, _: str) -> Collection[ScramShape]:
        """Return what the credentials of those look like who are known."""
        return ()
