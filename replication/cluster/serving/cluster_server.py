"""A cluster that nobody writes, on the network: each of its brokers listens on a port of its own."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from types import MappingProxyType, TracebackType
from typing import Final, Self

from logstore.files.partition_metadata import format_uuid
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.groups.requests.group_apis import group_apis
from replication.cluster.broker.groups.saved_groups import CONSUMER_OFFSETS, SavedGroups
from replication.cluster.broker.requests.cluster.features import features_of
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.cluster.serving.frozen_broker import made_id
from replication.cluster.serving.frozen_cluster import FrozenCluster
from replication.cluster.serving.refused_produce import REFUSED_PRODUCE
from replication.wire.addresses import LAST_PORT, Address
from replication.wire.messages import produce
from replication.wire.messages.topic_ids import Endpoint
from replication.wire.server.advertised_address import advertised_address
from replication.wire.server.connections.listener import CannotListenError
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.server import Server
from replication.wire.server.server_limits import ServerLimits

FETCH_MAX_BYTES: Final = 8 << 20
"""Of one answer: a seventh of what a broker allows, since so much is held for each client that stops reading."""


class ClusterServer:
    """Answers Kafka's clients for each broker of a cluster, with what can be read; nothing else is offered.

    Groups of consumers live in memory: what they commit is gone with the server.

    >>> with FrozenCluster.open([Path("broker-1"), Path("broker-2")]) as cluster, ClusterServer(cluster) as server:
    ...     print(server.bootstrap)
    """

    def __init__(
        self,
        cluster: FrozenCluster,
        listener: ListenerSettings | None = None,
        limits: ServerLimits | None = None,
        *,
        saved_groups: bool = False,
        advertised_host: str | None = None,
    ) -> None:
        """Listen and answer. The first broker gets the listener's port, the others those after it; of 0 any free ones.

        With `saved_groups` groups begin with what they had committed in the cluster, and without members. Clients are
        told to connect to `advertised_host`, by default where this listens, and of all addresses of this machine to
        its name. `limits` hold for each broker by itself.

        Raises CannotListenError, ResourceLimitError, and OSError.
        """
        settings = listener or ListenerSettings(address=Address("127.0.0.1", 0))
        # The members that a group had are not here: who joins would wait for the end of their sessions.
        self.groups: Final = _saved_in(cluster).without_members() if saved_groups else SavedGroups()
        """What the groups begin with."""
        with ExitStack() as stack:
            servers = {
                broker.node_id: stack.enter_context(Server([_numbered(settings, number)], limits))
                for number, broker in enumerate(cluster.brokers)
            }
            self.addresses: Final[Mapping[int, Address]] = MappingProxyType(
                {
                    node_id: advertised_address(server.addresses[settings.name], advertised_host)
                    for node_id, server in servers.items()
                }
            )
            """Where the brokers listen, by node id, as advertised to clients."""
            self._start(cluster, servers, settings.name)
            self._servers: Final = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bootstrap(self) -> str:
        """What clients connect to first."""
        return ",".join(map(str, self.addresses.values()))

    def close(self) -> None:
        """End all connections, within some seconds."""
        self._servers.close()

    def _start(self, cluster: FrozenCluster, servers: Mapping[int, Server], listener: str) -> None:
        image = cluster.image({node_id: {listener: address} for node_id, address in self.addresses.items()})
        # Nobody else is about to join: who reads what is at rest need not wait for others.
        coordinator = GroupCoordinator(GroupSettings(initial_rebalance_delay=0.0))
        coordinator.load(self.groups)
        first = cluster.brokers[0].node_id
        endpoint = Endpoint(first, *self.addresses[first])
        groups = group_apis(coordinator, image=lambda: image, endpoint=lambda _group, _call: endpoint)
        cluster_id = cluster.cluster_id or format_uuid(made_id(",".join(each.name for each in cluster.brokers)))
        for broker in cluster.brokers:
            known = KnownCluster(cluster_id, broker.node_id, lambda: image, lambda: cluster.metadata.end_offset - 1)
            reading = reading_apis(cluster.hosted[broker.node_id], known, broker.roots, fetch_max_bytes=FETCH_MAX_BYTES)
            apis = {**reading, **groups, produce.API_KEY: REFUSED_PRODUCE}
            servers[broker.node_id].start(apis, partial(features_of, known))


def _numbered(settings: ListenerSettings, number: int) -> ListenerSettings:
    host, port = settings.address
    if port and port + number > LAST_PORT:
        raise CannotListenError(Address(host, port + number), OverflowError(f"the last port is {LAST_PORT}"))
    return replace(settings, address=Address(host, port + number if port else 0))


def _saved_in(cluster: FrozenCluster) -> SavedGroups:
    every = (each for hosted in cluster.hosted.values() for each in hosted.items())
    led = (hosted for partition, hosted in every if partition.topic == CONSUMER_OFFSETS and hosted.is_leader)
    kept = {hosted.log: hosted for hosted in led}
    return SavedGroups.of(kept, lambda log, error: kept[log].on_failure(error))
