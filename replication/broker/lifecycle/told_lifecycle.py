"""What a broker tells of its standing with the controller, where that is not as it should be."""

from typing import Final

from replication.broker.events.event_log import log_event
from replication.broker.events.trouble import TellTrouble, Trouble
from replication.broker.events.trouble_events import TroubleKind
from replication.broker.lifecycle.errors import RefusedByControllerError
from replication.broker.lifecycle.lifecycle_observer import LifecycleObserver


class ToldLifecycle(LifecycleObserver):
    """Says once that requests are not answered, are refused, or that the broker is fenced, and once that it is over."""

    def __init__(self, tell: TellTrouble = log_event) -> None:
        """Begin without trouble."""
        self._controller: Final = Trouble(TroubleKind.CONTROLLER, tell=tell)
        self._fencing: Final = Trouble(TroubleKind.FENCED, tell=tell)

    def refused(self, error: Exception) -> None:
        """Tell of it, for each error that is answered once."""
        cause = error.code.name if isinstance(error, RefusedByControllerError) else ""
        self._controller.begin(str(error), cause)

    def answered(self) -> None:
        """Tell that it is over."""
        self._controller.end()

    def fenced(self) -> None:
        """Tell of it."""
        self._fencing.begin("the controller has fenced this broker: no heartbeat has come in time")

    def unfenced(self) -> None:
        """Tell that it is over; not at the start, where no trouble was told."""
        self._fencing.end()
