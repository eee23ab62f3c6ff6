"""The monotonic clock that threads wait by."""

import time


def monotonic_ms() -> int:
    """Milliseconds of a monotonic clock."""
    return time.monotonic_ns() // 1_000_000
