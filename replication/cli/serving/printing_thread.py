"""Lines on standard error, from a thread of their own: a writer never waits for a reader."""

import logging
import sys
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Final

from replication.cli.output.printing import shown

MOST_WAITING: Final = 10_000
PATIENCE_SECONDS: Final = 5.0
"""So long the end waits for who reads."""
_log: Final = logging.getLogger(__name__)


class PrintingThread:
    """Prints lines in order; those that come while too many wait are left out, and their number is logged later."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        """Begin."""
        self.dropped: int = 0
        """How many were left out."""
        self._most_waiting: Final = most_waiting
        self._lines: Final[SimpleQueue[str | None]] = SimpleQueue()
        self._thread: Final = Thread(target=self._work, name="prints-events", daemon=True)
        self._thread.start()

    def put(self, line: str) -> None:
        """Print a line soon. It returns at once; one thread at a time may call it."""
        if self._lines.qsize() < self._most_waiting:
            self._lines.put(line)
        else:
            self.dropped += 1

    def close(self) -> None:
        """Print what waits, and end; where nobody reads for some seconds, the rest is lost with the process."""
        self._lines.put(None)
        self._thread.join(PATIENCE_SECONDS)

    def _work(self) -> None:
        told = 0
        for line in iter(self._lines.get, None):
            _print(line)
            dropped = self.dropped
            if dropped != told and self._lines.qsize() <= 1:  # the end may be what waits
                _log.warning("this output was not read for a while: %d lines are missing", dropped - told)
                told = dropped
        # What was just said of lines that are missing may have come after the end.
        while not self._lines.empty() and (last := self._lines.get()) is not None:
            _print(last)


def _print(line: str) -> None:
    with suppress(OSError, ValueError):  # a reader that has gone is no matter of the broker's
        print(f"{shown(line)}\n", end="", file=sys.stderr, flush=True)
