"""A broker that its links keep from those who ask it."""

from typing import Final

from logstore.directory.log_directories import LogDirectories
from replication.node.broker_node import BrokerNode
from replication.node.broker_node_settings import BrokerNodeSettings
from replication.server.served_api import ServedApis
from replication.testing.linked.linked_apis import linked_apis
from replication.testing.linked.linked_controller import LinkedController
from replication.testing.links import Links


class LinkedBroker(BrokerNode):
    """Hangs up on brokers that are cut off from it, and answers nobody while it is paused."""

    def __init__(
        self,
        broker_id: int,
        links: Links,
        controller: LinkedController,
        directories: LogDirectories,
        settings: BrokerNodeSettings,
    ) -> None:
        """Start as `BrokerNode` does."""
        self._broker_id: Final = broker_id
        self._links: Final = links
        super().__init__(controller, directories, settings)

    def _served(self, apis: ServedApis) -> ServedApis:
        return linked_apis(apis, self._broker_id, self._links)
