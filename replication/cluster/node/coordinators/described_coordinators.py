"""Which of the other brokers coordinate groups and transactions: they are asked how they would make the topics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from replication.base.errors import ReplicationError
from replication.cluster.broker.requests.known_cluster import node_of
from replication.cluster.node.coordinators.coordinator_topic import COORDINATOR_TOPICS, SETTINGS
from replication.cluster.node.coordinators.placed_topic import Coordinator
from replication.records.metadata.nodes import BrokerRegistration
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.errors import KafkaError
from replication.wire.messages.describe_configs import BROKER, DescribeConfigsRequest, Resource

_TIMEOUT_MS: Final = 2_000
_SURE_SIGN: Final = COORDINATOR_TOPICS[0].partitions
"""Who coordinates has a value of this: brokers that do not know it, as ours, coordinate nothing."""


@dataclass(frozen=True, slots=True)
class DescribedCoordinators:
    """The other brokers as they have answered, or have not."""

    coordinators: list[Coordinator] = field(default_factory=list)
    others: dict[int, str] = field(default_factory=dict)
    """Why each of the others can have no replicas, by id."""
    unfit: set[int] = field(default_factory=set)
    """Those of the others that have answered, and coordinate nothing."""

    @classmethod
    def asked(
        cls, brokers: Iterable[BrokerRegistration], listener: str, settings: ClientSettings
    ) -> "DescribedCoordinators":
        """Ask each broker that may have new replicas, at this listener of its; `settings` say how it is protected."""
        told = cls()
        quick = settings.within(_TIMEOUT_MS)
        for broker in brokers:
            reason = _unusable(broker, listener)
            if reason is None:
                told._ask(broker, listener, quick)
            else:
                told.others[broker.id] = reason
        return told

    def _ask(self, broker: BrokerRegistration, listener: str, settings: ClientSettings) -> None:
        try:
            described = _described(broker, listener, settings)
        except (ReplicationError, OSError) as error:
            self.others[broker.id] = f"does not report its settings: {error}"
            return
        if _SURE_SIGN in described:
            self.coordinators.append(Coordinator(broker.id, broker.rack, described))
        else:
            self.unfit.add(broker.id)
            self.others[broker.id] = "coordinates nothing either"


def _unusable(broker: BrokerRegistration, listener: str) -> str | None:
    """Return why a broker is not asked: as it could not have a replica anyway, or cannot be found."""
    if broker.fenced:
        return "is fenced"
    if broker.in_controlled_shutdown:
        return "is shutting down"
    if not broker.takes_replicas:
        return "has its log.dirs cordoned"
    return f"has no listener {listener}" if listener not in broker.listeners else None


def _described(broker: BrokerRegistration, listener: str, settings: ClientSettings) -> Mapping[str, str]:
    """Return what a broker says of the settings; those that it does not know are left out."""
    node = node_of(broker, listener)
    assert node is not None  # noqa: S101 - or it is unusable
    resource = Resource(BROKER, str(broker.id))
    with Connection.open(Address(node.host, node.port), settings) as connection:
        answer = connection.ask(DescribeConfigsRequest(resources={resource: SETTINGS}))
    told = answer.resources[resource]
    if told.error is not ErrorCode.NONE:
        raise KafkaError(told.error, told.error_message or "")
    return {name: value for name, value in told.values.items() if value is not None}
