"""Something that may not work for a while: said when it begins, and when it is over."""

from collections.abc import Callable
from threading import Lock
from typing import Final, TypeAlias

from replication.base.clock import monotonic_ms
from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.trouble_events import TroubleBegan, TroubleEnded, TroubleEvent, TroubleKind

TellTrouble: TypeAlias = Callable[[TroubleEvent], object]
"""Called by whoever notices, who waits: it must return quickly, and raise nothing."""


def untold(event: TroubleEvent) -> None:
    """Ignore the event."""
    del event


class Trouble:
    """One kind of trouble, with one peer. Any thread may say that it is there or over, as often as it likes."""

    def __init__(
        self,
        kind: TroubleKind,
        peer: str | None = None,
        tell: TellTrouble = log_event,
        clock: Callable[[], int] = monotonic_ms,
    ) -> None:
        """Begin without; `clock` is in milliseconds."""
        self._kind: Final = kind
        self._peer: Final = peer
        self._tell: Final = tell
        self._clock: Final = clock
        self._lock: Final = Lock()
        self._since = 0
        self._causes: Final[set[str]] = set()
        """All that were reported since it began: several may come in turn."""

    def begin(self, why: str, cause: str = "") -> None:
        """Note that the trouble is there. Each cause is reported once until it ends, with the first reason."""
        with self._lock:
            if cause in self._causes:
                return
            if not self._causes:
                self._since = self._clock()
            self._causes.add(cause)
            self._tell(TroubleBegan(kind=self._kind, peer=self._peer, why=why))

    def end(self) -> None:
        """Note that the trouble is over, or never was there."""
        if not self._causes:  # without the lock: it is asked for each request of a client
            return
        with self._lock:
            if self._causes:
                self._causes.clear()
                self._tell(TroubleEnded(kind=self._kind, peer=self._peer, lasted_ms=self._clock() - self._since))
