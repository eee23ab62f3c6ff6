"""Waiting for what threads and processes do in their own time."""

import time
from collections.abc import Callable
from typing import Final

SECONDS: Final = 180
"""Until when a busy machine must have done what a quiet one does at once."""


def wait_until(holds: Callable[[], bool], wanted: str = "what is waited for") -> None:
    """Return once it holds; AssertionError says what was wanted."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"it never came true: {wanted}"
        time.sleep(0.2)
