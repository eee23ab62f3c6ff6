"""A controller that is alone, at an address of its own."""

from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from replication.broker.broker_settings import SUPPORTED_FEATURES
from replication.broker.requests.cluster.described_settings import DescribedSettings
from replication.broker.requests.known_cluster import KnownCluster
from replication.protocol.messages import describe_cluster, describe_configs, describe_quorum, fetch, fetch_snapshot
from replication.server.advertised_address import advertised_address
from replication.server.connections.listener_settings import ListenerSettings
from replication.server.offered_versions import Features
from replication.server.served_api import ServedApi, ServedApis
from replication.server.server import Server
from replication.server.server_limits import ServerLimits
from replication.standalone.quorum import envelopes
from replication.standalone.quorum.described_controllers import DescribedControllers
from replication.standalone.quorum.envelopes import Envelopes
from replication.standalone.quorum.led_quorum import LedQuorum
from replication.standalone.quorum.metadata_fetches import MetadataFetches
from replication.standalone.quorum.snapshot_pieces import SnapshotPieces
from replication.standalone.requests.administration_apis import administration_apis
from replication.standalone.requests.broker_requests import BrokerRequests
from replication.standalone.static_controller import StaticController


class ControllerServer:
    """Answers brokers as the active controller of a KRaft quorum does, and administrators (Kafka: ControllerServer).

    >>> with ControllerServer(controller, 100, ListenerSettings(name="CONTROLLER", address=address)) as server:
    ...     print(f"controller.quorum.voters=100@{server.address}")

    Brokers are ours or Kafka's, from 3.9 on. The quorum has one voter, and it is no other than this one.
    """

    def __init__(
        self,
        controller: StaticController,
        node_id: int,
        listener: ListenerSettings,
        *,
        advertised_host: str | None = None,
        limits: ServerLimits | None = None,
    ) -> None:
        """Listen and answer. The controller stays the caller's, and with it who lets it do what is due.

        `node_id` is no broker's. `advertised_host` is where brokers are told that it listens; None: where it does.
        Raises CannotListenError, InvalidSettingsError and ResourceLimitError.
        """
        self._controller: Final = controller
        with ExitStack() as stack:
            server = stack.enter_context(Server([listener], limits))
            self.address: Final = advertised_address(server.addresses[listener.name], advertised_host)
            """Where brokers are told that it listens."""
            self.quorum: Final = LedQuorum(controller, node_id, self.address)
            """What it tells of itself and of those that follow."""
            server.start(self._apis(), self._features)
            self._open: Final = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Answer nobody any more; it may be called again."""
        self._open.close()

    def _apis(self) -> ServedApis:
        controller, quorum = self._controller, self.quorum
        described = DescribedControllers(quorum)
        known = KnownCluster(quorum.cluster_id, quorum.node_id, lambda: controller.published.image)
        passed_on: ServedApis = {
            **administration_apis(controller),
            describe_quorum.API_KEY: ServedApi(describe_quorum.VERSIONS, described.quorum),
        }
        return {
            **BrokerRequests(controller).apis(),
            **passed_on,
            fetch.API_KEY: ServedApi(fetch.VERSIONS, MetadataFetches(quorum).answer),
            fetch_snapshot.API_KEY: ServedApi(fetch_snapshot.VERSIONS, SnapshotPieces(quorum).answer),
            describe_cluster.API_KEY: ServedApi(describe_cluster.VERSIONS, described.cluster),
            describe_configs.API_KEY: ServedApi(describe_configs.VERSIONS, DescribedSettings(known).answer),
            envelopes.API_KEY: ServedApi(envelopes.VERSIONS, Envelopes(passed_on).answer),
        }

    def _features(self) -> Features:
        published = self._controller.published
        finalized = {name: range(level, level + 1) for name, level in published.image.features.items()}
        return Features(SUPPORTED_FEATURES, finalized, published.applied_offset)
