"""The records of a log as another process appends them."""

import time
from collections.abc import AsyncGenerator, Iterator
from typing import Final

from logstore.batch.record import Record
from logstore.errors import LogClosedError
from logstore.event_loop import running_loop
from logstore.offline.live.following import Following

_TURN_SECONDS: Final = 0.01


class PolledTail:
    """Yields records, and looks for more every so many seconds: another process's appends are not signalled.

    Use it by `for` in a thread or by `async for` in a task. It can be iterated over again, and goes on from `position`.
    """

    def __init__(self, following: Following, seconds: float) -> None:
        """Read on from a place."""
        self._following = following
        self._seconds = seconds
        self._is_closed = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}(position={self.position}, seconds={self._seconds:g})"

    @property
    def position(self) -> int:
        """The offset to read next."""
        return self._following.offset

    def close(self) -> None:
        """End the iteration at its next poll."""
        self._is_closed = True

    def __iter__(self) -> Iterator[Record]:
        while not self._is_ended:
            yield from self._records()
            time.sleep(self._seconds)

    async def __aiter__(self) -> AsyncGenerator[Record, None]:
        loop = running_loop()
        while not self._is_ended:
            turn = time.monotonic() + _TURN_SECONDS
            for record in self._records():
                yield record
                if time.monotonic() > turn:
                    await loop.sleep(0)  # others get their turn, however much there is to read
                    turn = time.monotonic() + _TURN_SECONDS
            await loop.sleep(self._seconds)

    @property
    def _is_ended(self) -> bool:
        return self._is_closed or self._following.is_closed

    def _records(self) -> Iterator[Record]:
        try:
            yield from self._following.records()
        except LogClosedError:
            if not self._following.is_closed:
                raise
