"""What a broker that starts waits for: that it is registered, or can never be."""

from threading import Event
from typing import Final

from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.trouble import TellTrouble
from replication.cluster.broker.lifecycle.errors import RefusedByControllerError
from replication.cluster.broker.lifecycle.told_lifecycle import ToldLifecycle
from replication.wire.error_code import ErrorCode

_FOR_GOOD: Final = frozenset(
    {ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REGISTRATION, ErrorCode.UNSUPPORTED_VERSION}
)
"""What is answered to the same request however often it is sent."""


class RegistrationNews(ToldLifecycle):
    """Reports when there is a broker epoch, and all trouble."""

    def __init__(self, tell: TellTrouble = log_event) -> None:
        """Know of nothing yet."""
        super().__init__(tell)
        self._news: Final = Event()
        self._refusal: Exception | None = None

    def registered(self, broker_epoch: int) -> None:
        """Record a successful registration."""
        del broker_epoch
        self._refusal = None
        self._news.set()

    def refused(self, error: Exception) -> None:
        """Record an error after which retrying is in vain; pass others on."""
        if isinstance(error, RefusedByControllerError) and error.code in _FOR_GOOD and not self._news.is_set():
            self._refusal = error
            self._news.set()
            return  # it ends the start, and is told as the reason
        super().refused(error)

    def wait(self, seconds: float) -> bool:
        """Return whether the broker is registered within so many seconds. Raises what keeps it from ever being."""
        is_known = self._news.wait(seconds)
        if self._refusal is not None:
            raise self._refusal
        return is_known
