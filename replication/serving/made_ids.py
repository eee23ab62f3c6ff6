"""Ids for what has none: the same each time, as clients keep them."""

from typing import Final
from uuid import UUID, uuid5

_NAME_SPACE: Final = UUID("6f3c2a52-6d53-4b0e-9d0f-6a3f0d6c1d2b")


def made_id(name: str) -> UUID:
    """Return the id that stands for a name."""
    return uuid5(_NAME_SPACE, name)
