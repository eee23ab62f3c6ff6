"""What time it is."""

import time


def now_ms() -> int:
    """Return the time in milliseconds since 1970 UTC: the default clock of logs."""
    return time.time_ns() // 1_000_000
