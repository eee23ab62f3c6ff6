"""A request to stop that a signal handler may make."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_SLICE_SECONDS: Final = 0.05


class StopRequestedError(RuntimeError):
    """A stop was requested before what was waited for has come."""

    def __init__(self) -> None:
        """Create the error with its message."""
        super().__init__("a stop was requested meanwhile")


class StopRequest:
    """Made by any thread or signal handler; a thread that waits for it notices within a twentieth of a second.

    A `threading.Event` takes a lock to be set. The thread that a signal handler interrupts may be the one that waits,
    and hold it: both would wait for ever.
    """

    def __init__(self) -> None:
        """Begin without a request."""
        self._is_made = False
        self._breaks_off = False

    @contextmanager
    def breaking_off(self) -> Iterator[None]:
        """Raise StopRequestedError in the middle of what the main thread does in here, once a signal asks to stop.

        So it waits for no answer any more. All that is done in here has to bear an exception at any point.
        """
        try:
            self._breaks_off = True
            if self._is_made:
                raise StopRequestedError
            yield
        finally:
            self._breaks_off = False

    def make_in_handler(self) -> None:
        """Do as `make`, in the handler of a signal. Raises StopRequestedError within `breaking_off`."""
        self._is_made = True
        if self._breaks_off:
            self._breaks_off = False
            raise StopRequestedError

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

    def until(self, wait: Callable[[float], bool], seconds: float) -> bool:
        """Return whether something comes within so many seconds; `wait` takes some, and returns whether it has.

        Raises StopRequestedError as soon as a stop is requested, and what `wait` raises.
        """
        until = time.monotonic() + seconds
        while not self._is_made:
            left = until - time.monotonic()
            if wait(max(0.0, min(left, _SLICE_SECONDS))):
                return True
            if left <= 0:
                return False
        raise StopRequestedError
