"""The connections that a server has."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final, Protocol

from replication.wire.server.server_limits import ServerLimits


class OpenConnection(Protocol):
    """What runs in a thread of its own."""

    @property
    def address(self) -> str:
        """Whose connection it is: an IP address."""

    @property
    def listener(self) -> str:
        """The name of the listener that it came by."""

    def end(self) -> None:
        """End its thread; called by any thread."""

    def join(self, seconds: float) -> None:
        """Wait for that."""


class OpenConnections:
    """No more than are allowed; ended together."""

    def __init__(self, limits: ServerLimits) -> None:
        """Create it without connections."""
        self._limits: Final = limits
        self._changed: Final = Condition()
        self._open: Final[set[OpenConnection]] = set()
        self._by_address: Final[Counter[str]] = Counter()
        self._by_listener: Final[Counter[str]] = Counter()
        self._closing = 0
        """How many are just closing their sockets."""
        self._is_closed = False

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._open)

    @property
    def is_closed(self) -> bool:
        """Whether there will be no more."""
        return self._is_closed

    def count(self, listener: str) -> int:
        """Return how many came by a listener."""
        return self._by_listener[listener]

    def wait_for_room(self) -> None:
        """Return once there may be one more, or none any more."""
        with self._changed:
            self._changed.wait_for(self._has_room)

    def wait_for_end(self, seconds: float) -> None:
        """Return once one has ended, and its descriptor is free; or after some time, as others may have freed some."""
        with self._changed:
            if not self._is_closed:
                self._changed.wait(seconds)

    def add(self, connection: OpenConnection, *, waits: bool = True) -> bool:
        """Count one more, once there is room where it `waits` for that; return whether it may stay."""
        with self._changed:
            if waits:
                # Once more: another listener may have taken what was free.
                self._changed.wait_for(self._has_room)
            has_room = self._by_address[connection.address] < self._limits.max_connections_per_ip
            if self._is_closed or not has_room:
                return False
            self._open.add(connection)
            self._by_address[connection.address] += 1
            self._by_listener[connection.listener] += 1
            return True

    @contextmanager
    def removing(self, connection: OpenConnection) -> Iterator[None]:
        """Count one less. It is not ended by others meanwhile, so that it can close its socket."""
        with self._changed:
            self._open.discard(connection)
            self._closing += 1
        try:
            yield
        finally:
            self._removed(connection)

    def _removed(self, connection: OpenConnection) -> None:
        with self._changed:
            self._closing -= 1
            self._by_listener[connection.listener] -= 1
            self._by_address[connection.address] -= 1
            if not self._by_address[connection.address]:
                del self._by_address[connection.address]
            self._changed.notify_all()

    def close(self, until: float) -> None:
        """End all, have no more, and wait for their threads up to a moment of `time.monotonic()`."""
        with self._changed:
            self._is_closed = True
            ended = list(self._open)
            for connection in ended:
                connection.end()
            self._changed.notify_all()
            self._changed.wait_for(lambda: not (self._open or self._closing), max(0.0, until - time.monotonic()))
        for connection in ended:
            connection.join(max(0.0, until - time.monotonic()))

    def _has_room(self) -> bool:
        return len(self._open) < self._limits.max_connections or self._is_closed
