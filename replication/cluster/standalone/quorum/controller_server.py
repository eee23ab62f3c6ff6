"""A controller that is alone, at an address of its own."""

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self
from uuid import UUID

from replication.cluster.broker.broker_settings import SUPPORTED_FEATURES
from replication.cluster.broker.requests.cluster.described_settings import DescribedSettings
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.standalone.quorum import envelopes
from replication.cluster.standalone.quorum.described_controllers import DescribedControllers
from replication.cluster.standalone.quorum.envelopes import Envelopes
from replication.cluster.standalone.quorum.led_quorum import KRAFT_VERSION, LedQuorum
from replication.cluster.standalone.quorum.metadata_fetches import MetadataFetches
from replication.cluster.standalone.quorum.snapshot_pieces import SnapshotPieces
from replication.cluster.standalone.requests.administration_apis import administration_apis
from replication.cluster.standalone.requests.broker_requests import BrokerRequests
from replication.cluster.standalone.static_controller import StaticController
from replication.records.codec.fields import NO_ID
from replication.records.metadata.records.control import (
    ControlMessage,
    ElectionVoter,
    KRaftVersion,
    KRaftVersionRange,
    LeaderChange,
    Voter,
    VoterEndpoint,
    Voters,
)
from replication.wire.messages import describe_cluster, describe_configs, describe_quorum, fetch, fetch_snapshot
from replication.wire.server.advertised_address import advertised_address
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.offered_versions import Features
from replication.wire.server.served_api import ServedApi, ServedApis
from replication.wire.server.server import Server
from replication.wire.server.server_limits import ServerLimits

_LEADER_CHANGE: Final = 0
"""Kafka 4.4 reads no other version, whatever it says (ControlRecordUtils.LEADER_CHANGE_CURRENT_VERSION)."""


def controller_apis(controller: StaticController, quorum: LedQuorum) -> ServedApis:
    """Return what a controller answers who leads this quorum (Kafka: ControllerApis).

    Brokers pass on what they were asked by administrators (KIP-590). Requests end with ControllerFailedError where the
    metadata could not be written.
    """
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


def quorum_messages(quorum: LedQuorum, listener: str) -> Sequence[ControlMessage]:
    """Return the control records of a leader that is the only voter; `listener` names where it listens."""
    directory_id = quorum.directory_id or NO_ID
    elected = (ElectionVoter(voter_id=quorum.node_id),)
    voter = Voter(
        voter_id=quorum.node_id,
        voter_directory_id=directory_id,
        endpoints=(VoterEndpoint(name=listener, host=quorum.address.host, port=quorum.address.port),),
        k_raft_version_feature=KRaftVersionRange(min_supported_version=0, max_supported_version=KRAFT_VERSION),
    )
    return (
        LeaderChange(version=_LEADER_CHANGE, leader_id=quorum.node_id, voters=elected, granting_voters=elected),
        KRaftVersion(k_raft_version=KRAFT_VERSION),
        Voters(voters=(voter,)),
    )


class ControllerServer:
    """Answers brokers as the active controller of a KRaft quorum does, and administrators (Kafka: ControllerServer).

    >>> with ControllerServer(controller, 100, ListenerSettings(name="CONTROLLER", address=address)) as server:
    ...     print(f"controller.quorum.voters=100@{server.address}")

    Brokers are ours or Kafka's. The quorum has one voter, and it is no other than this one.
    """

    def __init__(
        self,
        controller: StaticController,
        node_id: int,
        listener: ListenerSettings,
        *,
        directory_id: UUID | None = None,
        advertised_host: str | None = None,
        limits: ServerLimits | None = None,
    ) -> None:
        """Listen and answer. The controller stays the caller's, and with it who lets it do what is due.

        `node_id` is no broker's. With a `directory_id`, of the metadata's directory, the log says who the voter is and
        where it listens (KIP-853), so that brokers need no more than `controller.quorum.bootstrap.servers`; without one
        they need `controller.quorum.voters`. `advertised_host` is where brokers are told that it listens; None: where
        it does. Raises CannotListenError, InvalidSettingsError, ResourceLimitError and ControllerFailedError.
        """
        self._controller: Final = controller
        with ExitStack() as stack:
            server = stack.enter_context(Server([listener], limits))
            self.address: Final = advertised_address(server.addresses[listener.name], advertised_host)
            """Where it listens, as advertised to brokers."""
            self.quorum: Final = LedQuorum(controller, node_id, self.address, directory_id)
            """What it reports of itself and of those that follow."""
            if directory_id is not None:
                controller.announce(*quorum_messages(self.quorum, listener.name))
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
        return controller_apis(self._controller, self.quorum)

    def _features(self) -> Features:
        published = self._controller.published
        levels = {**published.image.features, **self.quorum.features}
        finalized = {name: range(level, level + 1) for name, level in levels.items()}
        return Features(SUPPORTED_FEATURES, finalized, published.applied_offset)
