"""What time it is."""

import time


def now_ms() -> int:
    """Return the time in milliseconds since 1970 UTC: the default clock of logs."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Return milliseconds that only go on, whatever is done to the clock."""
    return time.monotonic_ns() // 1_000_000
