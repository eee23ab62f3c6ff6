"""Where a user keeps what can be made again."""

import os
import sys
from contextlib import suppress
from pathlib import Path


def user_cache() -> Path | None:
    """Return the directory for what epochlog can make again; None where a user has no home, and names no other."""
    place = Path("~/Library/Caches" if sys.platform == "darwin" else "~/.cache")
    with suppress(RuntimeError):  # there is no home
        place = place.expanduser()
    if sys.platform != "darwin":
        place = Path(os.environ.get("XDG_CACHE_HOME", place))
    return place / "epochlog" if place.is_absolute() else None
