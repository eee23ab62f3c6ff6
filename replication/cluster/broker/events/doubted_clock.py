"""Whether a broker's clock is trusted: reported when nothing is deleted by age as it is not, and when that ends."""

from collections.abc import Callable, Iterable
from typing import Final

from logstore.directory.log_directory import LogDirectory
from replication.base.clock import monotonic_ms
from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.trouble import TellTrouble, Trouble
from replication.cluster.broker.events.trouble_events import TroubleKind

_PATIENCE_MS: Final = 60_000
"""So long after a start it is no news that no other node's clock was heard."""


class DoubtedClock:
    """One thread looks."""

    def __init__(
        self, roots: Iterable[LogDirectory], tell: TellTrouble = log_event, clock: Callable[[], int] = monotonic_ms
    ) -> None:
        """Create it with nothing reported; `clock` is in milliseconds, of any clock that nobody sets."""
        self._roots: Final = tuple(roots)
        self._trouble: Final = Trouble(TroubleKind.CLOCK, tell=tell, clock=clock)
        self._clock: Final = clock
        self._begun_ms: Final = clock()

    def look(self) -> None:
        """Report what has changed."""
        doubt = next(filter(None, (root.clock_doubt for root in self._roots)), None)
        if doubt is None:
            self._trouble.end()
        elif doubt.ahead_ms is not None or self._clock() - self._begun_ms > _PATIENCE_MS:
            self._trouble.begin(str(doubt))
