"""How long a log keeps its records where its configuration does not say it."""

from datetime import timedelta
from typing import Final, Literal

from logstore.arguments import whole_number
from logstore.log_config import MAX_INT64, NO_LIMIT, RETENTION_MS

Keep = Literal["forever"] | timedelta | int
"""A time, or as many milliseconds, after which segments may go; -1 is for ever."""
FOREVER: Final = "forever"


def default_retention_ms(keep: Keep | None, *, replicated: bool) -> int:
    """Return the `retention_ms` of a log that sets none: for ever by default, Kafka's for who has copies elsewhere.

    Raises TypeError, and ValueError for what is no time to keep records.
    """
    if keep is None:
        return RETENTION_MS if replicated else NO_LIMIT
    if keep == FOREVER:
        return NO_LIMIT
    kept_ms = keep // timedelta(milliseconds=1) if isinstance(keep, timedelta) else whole_number(keep, "keep")
    if not NO_LIMIT <= kept_ms <= MAX_INT64:
        raise ValueError(f"keep is {kept_ms:,} ms: pass 'forever', a timedelta, or milliseconds from 0 on")
    return kept_ms
