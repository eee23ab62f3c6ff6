"""Names of properties that are nearly others, as where one was mistyped."""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

_ALIKE: Final = 0.93
"""Names of Kafka's that mean different things are less so; a letter too many or too few is more."""


def similar_names(names: Collection[str], known: Collection[str]) -> dict[str, str]:
    """Return which known name each of `names` is nearly, where it is.

    >>> similar_names(["log.retention.hour", "foo.bar"], ["log.retention.hours", "log.dirs"])
    {'log.retention.hour': 'log.retention.hours'}
    """
    found = {name: get_close_matches(name, known, 1, _ALIKE) for name in names}
    return {name: close[0] for name, close in found.items() if close}
