"""AlterUserScramCredentials: an answer that is the same for all whom it names (KIP-554)."""

from collections.abc import Mapping
from typing import Any, Final

API_KEY: Final = 51


def each_user(request: Any, said: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content of the answer that says so of each user, by name."""
    names = {each.name for each in (*request.deletions, *request.upsertions)}
    return {"results": [{"user": name, **said} for name in sorted(names)]}
