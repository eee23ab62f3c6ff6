"""A broker as it has registered in the coordination store (Kafka: BrokerIdZNode)."""

from typing import NamedTuple

from replication.wire.messages.broker_registration import Listener


class RegisteredBroker(NamedTuple):
    """What others have to know of it."""

    epoch: int = -1
    """The transaction in which it registered: each registration has a higher one."""
    listeners: tuple[Listener, ...] = ()
    rack: str | None = None

    def listener(self, name: str) -> Listener | None:
        """Return the listener of a name; None where the broker has none."""
        return next((each for each in self.listeners if each.name == name), None)
