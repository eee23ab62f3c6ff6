"""What a broker reports of its standing with the controller, where that is not as it should be."""

from typing import Final

from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.trouble import TellTrouble, Trouble
from replication.cluster.broker.events.trouble_events import TroubleKind
from replication.cluster.broker.lifecycle.errors import RefusedByControllerError
from replication.cluster.broker.lifecycle.lifecycle_observer import LifecycleObserver


class ToldLifecycle(LifecycleObserver):
    """Reports the beginning and the end of late, refused or unanswered requests, and of being fenced."""

    def __init__(self, tell: TellTrouble = log_event) -> None:
        """Begin without trouble."""
        self._controller: Final = Trouble(TroubleKind.CONTROLLER, tell=tell)
        self._heartbeats: Final = Trouble(TroubleKind.HEARTBEATS, tell=tell)
        self._fencing: Final = Trouble(TroubleKind.FENCED, tell=tell)

    def refused(self, error: Exception) -> None:
        """Report each error that is answered once."""
        cause = error.code.name if isinstance(error, RefusedByControllerError) else ""
        self._controller.begin(str(error), cause)

    def answered(self) -> None:
        """Report the end of the errors."""
        self._controller.end()

    def late(self, late_ms: int) -> None:
        """Report a late heartbeat."""
        self._heartbeats.begin(f"a heartbeat is sent {late_ms:,} ms late: the process or the machine was held up")

    def in_time(self) -> None:
        """Report that heartbeats are in time again."""
        self._heartbeats.end()

    def fenced(self) -> None:
        """Report that the broker is fenced."""
        self._fencing.begin("the controller has fenced this broker: no heartbeat has come in time")

    def unfenced(self) -> None:
        """Report that the broker is unfenced; not at the start, where no trouble was reported."""
        self._fencing.end()
