"""What this process has fetched from object stores."""

from threading import Lock
from typing import Final, NamedTuple


class Traffic(NamedTuple):
    """Bytes of files that were fetched, also again, and requests, as far as pyarrow's calls show them."""

    bytes: int = 0
    requests: int = 0

    def plus(self, other: "Traffic") -> "Traffic":
        """Return both together."""
        return Traffic(self.bytes + other.bytes, self.requests + other.requests)

    def since(self, earlier: "Traffic") -> "Traffic":
        """Return what came after an earlier state."""
        return Traffic(self.bytes - earlier.bytes, self.requests - earlier.requests)


NOTHING: Final = Traffic()


class TrafficCount:
    """Counts it, whichever thread fetches."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._traffic = NOTHING

    @property
    def so_far(self) -> Traffic:
        """All since the process began."""
        return self._traffic

    def add(self, *, requests: int, size: int = 0) -> None:
        """Count requests, and the bytes that they gave."""
        with self._lock:
            self._traffic = self._traffic.plus(Traffic(size, requests))


TRAFFIC: Final = TrafficCount()
"""Of this process."""
