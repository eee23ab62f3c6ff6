"""How long requests that a store fails may keep an audit waiting altogether, before each is sent only once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Final

MOST_SECONDS: Final = 20
"""That a process waits for requests of one store that fail, before it does so no more."""
SHARE: Final = 0.1
"""Of the time that goes by, in which it may wait further."""


class Patience:
    """The seconds that failing requests may still take: full at first, and filled up again as time goes by.

    Altogether they take `most` seconds, a share of the time that goes by, and what the last of them took.
    """

    def __init__(self, most: float = MOST_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with all of it."""
        self._most, self._clock = most, clock
        self._left, self._at = most, clock()
        self._counted = self._at
        """Until when what was waited is counted."""
        self._lock = Lock()

    @property
    def is_left(self) -> bool:
        """Whether what fails may be tried again."""
        self.waited(0)
        return self._left > 0

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Send a request, and count what it takes where it fails. Raises what it raises."""
        begun = self._clock()
        try:
            yield
        except OSError:
            self.waited(self._clock() - begun)
            raise

    def waited(self, seconds: float) -> None:
        """Count what was waited because of a failure, until now; what several have waited at once counts once."""
        with self._lock:
            now = self._clock()
            filled = self._left + SHARE * (now - self._at)
            lost = min(seconds, now - self._counted)
            self._left, self._at = min(filled, self._most) - lost, now
            self._counted = now if seconds else self._counted


@lru_cache(maxsize=256)
def patience_with(*_store: str) -> Patience:
    """Return what this process has with a store, named by the parts of a URI without the path in it."""
    return Patience()
