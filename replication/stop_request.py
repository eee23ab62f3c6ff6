"""A request to stop that a signal handler may make."""

import time
from typing import Final

_SLICE_SECONDS: Final = 0.05


class StopRequest:
    """Made by any thread or signal handler; a thread that waits for it notices within a twentieth of a second.

    A `threading.Event` takes a lock to be set. The thread that a signal handler interrupts may be the one that waits,
    and hold it: both would wait for ever.
    """

    def __init__(self) -> None:
        """Begin without a request."""
        self._is_made = False

    def make(self) -> None:
        """Ask to stop. It cannot be taken back."""
        self._is_made = True

    @property
    def is_made(self) -> bool:
        """Whether a stop was requested."""
        return self._is_made

    def wait(self, seconds: float) -> bool:
        """Wait for so many seconds, or until a stop is requested; return whether it is."""
        until = time.monotonic() + seconds
        while not self._is_made and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))
        return self._is_made
