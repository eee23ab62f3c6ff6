"""The time by which threads wait: it has no date, and does not go back."""

import time


def monotonic_ms() -> int:
    """Milliseconds of a clock that does not go back."""
    return time.monotonic_ns() // 1_000_000
