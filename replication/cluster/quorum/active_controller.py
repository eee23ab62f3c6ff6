"""Where the active controller listens, as far as is known."""

from collections.abc import Callable
from threading import Condition

from replication.wire.addresses import Address


class ActiveController:
    """Shared record of the active controller: set by what follows the metadata, read by what sends to the controller.

    Kafka: RaftControllerNodeProvider.
    """

    def __init__(self) -> None:
        """Begin without knowing any."""
        self._changed = Condition()
        self._address: Address | None = None
        self._trouble = ""
        self._closed = False
        self._told: tuple[Callable[[], object], ...] = ()

    @property
    def address(self) -> Address | None:
        """None while nobody is known to lead."""
        return self._address

    @property
    def trouble(self) -> str:
        """What kept it from being found, the last time; empty where nothing is known of that."""
        return self._trouble

    def found(self, address: Address) -> bool:
        """Mark the leader known; return whether that is news."""
        with self._changed:
            is_news = address != self._address
            self._address = address
            self._trouble = ""
            self._changed.notify_all()
        if is_news:
            self._tell()
        return is_news

    def lost(self, trouble: str = "") -> None:
        """Mark the leader unknown."""
        with self._changed:
            self._address = None
            self._trouble = trouble or self._trouble
        self._tell()

    def tell(self, changed: Callable[[], object]) -> None:
        """Call this, in the thread of who finds out, whenever another one leads or nobody is known to."""
        with self._changed:
            self._told = (*self._told, changed)

    def tell_no_more(self, changed: Callable[[], object]) -> None:
        """Call this no more."""
        with self._changed:
            self._told = tuple(each for each in self._told if each != changed)

    def wait(self, seconds: float, has_given_up: Callable[[], bool] = lambda: False) -> Address | None:
        """Return who leads once that is known; None if it is not in time, or after `close`.

        Where who waits `has_given_up`, it returns after `look_again`.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._address is not None or has_given_up(), seconds)
            return None if self._closed else self._address

    def look_again(self) -> None:
        """Make waiters check whether they have given up."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Fail current waiters."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _tell(self) -> None:
        for each in self._told:
            each()
