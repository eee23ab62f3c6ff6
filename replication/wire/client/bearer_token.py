"""A token of OAuth 2.0, and when to get another."""

import base64
import binascii
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Self

REFRESH_AFTER: Final = 0.8
"""The part of a token's life after which another is asked for (Kafka: sasl.login.refresh.window.factor)."""

_WELL_FORMED: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""b64token of RFC 6750."""


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token; its times are seconds on a clock that does not jump."""

    value: str = field(repr=False)
    obtained_at: float
    lives: float
    """For how long; 0: it is not known, so that it is used once."""

    @classmethod
    def of(cls, response: object, now: float, unix_time: float) -> Self:
        """Parse a token endpoint's response (RFC 6749, 5.1): without `expires_in` the token's own expiry counts.

        Raises ValueError.
        """
        if not isinstance(response, dict) or not isinstance(response.get("access_token"), str):
            raise ValueError("it has no access_token")  # noqa: TRY004  what came is of the wrong content, not a wrong call
        value = response["access_token"]
        if not _WELL_FORMED.fullmatch(value):
            raise ValueError("its access_token has characters that no token has")
        lives = _number(response.get("expires_in"))
        if lives is None:
            end = _number(_claims(value).get("exp"))
            lives = 0 if end is None else end - unix_time
        return cls(value, now, max(0, lives))

    def is_valid(self, now: float) -> bool:
        """Whether brokers still accept it."""
        return now < self.obtained_at + self.lives

    def is_due(self, now: float) -> bool:
        """Whether it is time to request another."""
        return now >= self.obtained_at + REFRESH_AFTER * self.lives


class TokenHolder:
    """Keeps one token for all connections, and gets the next before it ends. Thread-safe."""

    def __init__(self) -> None:
        self._token: BearerToken | None = None
        self._used = Lock()

    def get(self, obtain: Callable[[], BearerToken], clock: Callable[[], float]) -> BearerToken:
        """Return a token that is valid; where another cannot be had, the one before as long as it lives."""
        with self._used:
            token = self._token
            if token is not None and not token.is_due(clock()):
                return token
            try:
                self._token = obtain()
            except Exception:
                if token is None or not token.is_valid(clock()):
                    raise
                return token
            return self._token


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _claims(token: str) -> dict[str, object]:
    """Return what a JWT says (RFC 7519), unchecked: that is the broker's part; nothing if it is no JWT."""
    _, _, rest = token.partition(".")
    payload = rest.partition(".")[0]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}
