"""A controller at an address of its own, and brokers that reach it over the network alone."""

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from epoch.filesystem import REAL, FileSystem
from logstore.directory.log_directories import LogDirectories
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.standalone.formatting import ensure_formatted
from replication.node import BrokerNode, BrokerNodeSettings, NetworkLink
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration
from replication.standalone import StandaloneController
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings

CLUSTER: Final = "remote-cluster-0000000"
CONTROLLER_ID: Final = 100
SECONDS: Final = 60
LOOPBACK: Final = Address("127.0.0.1", 0)
SESSION_MS: Final = 2_000


class Running(NamedTuple):
    """A broker that is up."""

    node: BrokerNode
    directories: LogDirectories


class RemoteCluster:
    """Brokers 1 to `brokers`, in one process, which only sockets join to the controller and to each other."""

    def __init__(self, directory: Path, brokers: int = 2, *, request_timeout_ms: int = 9_000, **settings: Any) -> None:
        self._directory = directory
        self._request_timeout_ms = request_timeout_ms
        self._settings = settings
        self._factor = brokers
        self._ports: dict[int, int] = {}
        self.disks: dict[int, FileSystem] = {}
        """Of brokers whose disk is not the real one, from their next start on."""
        self.controller = self._begun(LOOPBACK)
        self.brokers: dict[int, Running] = {}
        for broker_id in range(1, brokers + 1):
            self.start(broker_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for broker_id in tuple(self.brokers):
            self.kill(broker_id)
        self.controller.close()

    @property
    def image(self) -> ClusterImage:
        return self.controller.controller.published.image

    @property
    def bootstrap(self) -> str:
        return ",".join(str(running.node.address) for running in self.brokers.values())

    def partition(self, topic: str) -> PartitionRegistration:
        return self.image.topics.by_name[topic].partitions[0]

    def link(self, directories: LogDirectories) -> NetworkLink:
        """Return what reaches the controller; brokers with even ids keep a copy of the metadata."""
        identity = BrokerIdentity.of(directories)
        copy = None if identity.broker_id % 2 else self._directory / f"metadata-{identity.broker_id}"
        return NetworkLink(
            str(self.controller.server.address),
            identity,
            metadata_directory=copy,
            request_timeout_ms=self._request_timeout_ms,
        )

    def start(self, broker_id: int) -> BrokerNode:
        root = self._directory / f"broker-{broker_id}"
        ensure_formatted([root], broker_id, CLUSTER)
        disk = self.disks.get(broker_id, REAL)
        directories = LogDirectories.open([root], replicated=True, damage="hold", periodic=True, filesystem=disk)
        settings = BrokerNodeSettings(
            listener=ListenerSettings(address=Address("127.0.0.1", self._ports.get(broker_id, 0))),
            replica_lag_time_max_ms=1_000,
            heartbeat_interval_ms=SESSION_MS // 5,
            auto_create_topics=True,
            **self._settings,
        )
        try:
            node = BrokerNode(self.link(directories), directories, settings)
        except BaseException:
            directories.close()
            raise
        self._ports[broker_id] = node.address.port
        self.brokers[broker_id] = Running(node, directories)
        return node

    def stop(self, broker_id: int) -> None:
        """Let a broker leave in order."""
        node, directories = self.brokers.pop(broker_id)
        node.close()
        directories.close()

    def kill(self, broker_id: int) -> None:
        """End a broker without a word."""
        node, directories = self.brokers.pop(broker_id)
        node.abandon()
        directories.abandon()

    def restart_controller(self) -> None:
        """Start the controller anew, on its directory and its port."""
        address = self.controller.server.address
        self.controller.close()
        self.controller = self._begun(address)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, {name: self.partition(name) for name in self.image.topics.by_name}
            time.sleep(0.05)

    def _begun(self, address: Address) -> StandaloneController:
        settings = ControllerSettings(
            broker_session_timeout_ms=SESSION_MS,
            default_replication_factor=self._factor,
            leader_imbalance_check_interval_ms=None,
        )
        listener = ListenerSettings(name="CONTROLLER", address=address)
        root = self._directory / "controller"
        return StandaloneController.open(root, listener, settings, node_id=CONTROLLER_ID, cluster_id=CLUSTER)
