"""When each broker was last heard of: soft state, which no record holds (Kafka: BrokerHeartbeatTracker)."""

from typing import NamedTuple


class BrokerIncarnation(NamedTuple):
    """A broker, as of one registration."""

    broker_id: int
    broker_epoch: int


class BrokerSessions:
    """Sessions that last `broker.session.timeout.ms` after a broker's last sign of life.

    Times are milliseconds of a clock that never goes back.
    """

    def __init__(self, timeout_ms: int = 9000) -> None:
        self.timeout_ms = timeout_ms
        self._contacts: dict[BrokerIncarnation, int] = {}
        """The longest silent comes first."""

    def contact(self, incarnation: BrokerIncarnation, now: int) -> None:
        """Note a sign of life."""
        self._contacts.pop(incarnation, None)
        self._contacts[incarnation] = now

    def has_session(self, incarnation: BrokerIncarnation, now: int) -> bool:
        """Whether it was heard of within the time-out."""
        contact = self._contacts.get(incarnation)
        return contact is not None and now - contact <= self.timeout_ms

    def end(self, broker_id: int) -> None:
        """Forget all that was heard of a broker's earlier starts."""
        for incarnation in [each for each in self._contacts if each.broker_id == broker_id]:
            del self._contacts[incarnation]

    def take_expired(self, now: int) -> BrokerIncarnation | None:
        """Forget the one that is silent for the longest, where its session has run out, and return it."""
        longest_silent = next(iter(self._contacts), None)
        if longest_silent is None or self.has_session(longest_silent, now):
            return None
        del self._contacts[longest_silent]
        return longest_silent

    @property
    def next_expiry(self) -> int | None:
        """When the next session runs out, unless it is renewed."""
        contact = next(iter(self._contacts.values()), None)
        return None if contact is None else contact + self.timeout_ms
