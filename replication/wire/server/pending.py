"""An answer that has to wait for something, such as records."""

from typing import Any, Final, Protocol

from logstore.log.state.waiters import Waiter

NO_ANSWER: Final = object()
"""In place of an answer, where what was waited for is done and the request wants to hear nothing of it."""


class Pending(Protocol):
    """Waits for what a request asked for; sockets and threads are those of who waits.

    Whoever waits calls `attend`, then `answer`, again after each wake-up, and `expire` once `deadline` has passed; and
    `leave` in the end, whatever happens.
    """

    @property
    def deadline(self) -> float:
        """In seconds, by `time.monotonic()`; looked at before each wait."""

    def attend(self, waiter: Waiter) -> None:
        """Wake the waiter, which is held weakly, from now on whenever there may be an answer."""

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more."""

    def answer(self) -> Any | None:
        """Return the answer, or NO_ANSWER; None as long as there is none."""

    def expire(self) -> Any | None:
        """Return what is answered once the time is over; None where `deadline` is a later one now."""
