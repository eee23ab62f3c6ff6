"""Which metadata a broker takes its roles from."""

from typing import Final

from replication.cluster.broker.lifecycle.errors import BrokerStoppedError
from replication.cluster.node.metadata_feed import MetadataNews


class OwnMetadata:
    """Such as has the broker registered as it is now: what is older speaks of its earlier starts."""

    def __init__(self, broker_id: int) -> None:
        """Hold nothing back yet."""
        self._broker_id: Final = broker_id
        self._held: MetadataNews | None = None
        self._has_begun = False

    @property
    def is_held_back(self) -> bool:
        """Whether there is metadata that is yet to be admitted."""
        return self._held is not None

    def admitted(self, news: MetadataNews, broker_epoch: int) -> MetadataNews | None:
        """Return what is to be applied, with what was held back before; None: nothing yet.

        Raises BrokerStoppedError where another process has registered in the broker's place: the roles are that one's,
        and who led on by them would acknowledge what nobody else has.
        """
        if self._held is not None:
            news, self._held = self._held.then(news), None
        broker = news.image.brokers.get(self._broker_id)
        registered_epoch = -1 if broker is None else broker.epoch
        if registered_epoch > broker_epoch:
            raise BrokerStoppedError(self._broker_id, "another process has registered in its place")
        if registered_epoch < broker_epoch and not self._has_begun:
            self._held = news
            return None
        self._has_begun = True
        return news
