"""AlterUserScramCredentials: whom it names (KIP-554)."""

from typing import Any, Final

API_KEY: Final = 51


def users_of(request: Any) -> list[str]:
    """Return the users that credentials are to be set or removed of, each once, sorted by name."""
    return sorted({each.name for each in (*request.deletions, *request.upsertions)})
