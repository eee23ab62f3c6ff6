"""Whether a broker's clock is trusted: told when nothing is deleted by age for want of that, and when it is over."""

from collections.abc import Callable, Iterable
from typing import Final

from logstore.directory.log_directory import LogDirectory
from replication.broker.events.event_log import log_event
from replication.broker.events.trouble import TellTrouble, Trouble
from replication.broker.events.trouble_events import TroubleKind
from replication.clock import monotonic_ms

_PATIENCE_MS: Final = 60_000
"""So long after a start it is no news that no other node's clock was heard."""


class DoubtedClock:
    """One thread looks."""

    def __init__(
        self, roots: Iterable[LogDirectory], tell: TellTrouble = log_event, clock: Callable[[], int] = monotonic_ms
    ) -> None:
        """Have told nothing yet; `clock` is in milliseconds, of any clock that nobody sets."""
        self._roots: Final = tuple(roots)
        self._trouble: Final = Trouble(TroubleKind.CLOCK, tell=tell, clock=clock)
        self._clock: Final = clock
        self._begun_ms: Final = clock()

    def look(self) -> None:
        """Tell what has changed."""
        doubt = next(filter(None, (root.clock_doubt for root in self._roots)), None)
        if doubt is None:
            self._trouble.end()
        elif doubt.ahead_ms is not None or self._clock() - self._begun_ms > _PATIENCE_MS:
            self._trouble.begin(str(doubt))
