"""What time it is."""

import time


def now_ms() -> int:
    """Milliseconds since 1970 UTC, as records and retention count them: the clock that logs have unless given one."""
    return time.time_ns() // 1_000_000
