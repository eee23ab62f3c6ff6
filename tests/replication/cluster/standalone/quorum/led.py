"""A controller by itself for a test: its directory, where it listens, and what it is asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from logstore.directory.log_directories import LogDirectories
from replication.base.metadata_partition import METADATA_PARTITION, METADATA_TOPIC_ID
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.lifecycle.broker_agent import BrokerAgent
from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.controller.settings.setting_changes import Operation, SettingChange
from replication.cluster.controller.topics.topics import NewTopic
from replication.cluster.standalone.quorum.standalone_controller import StandaloneController
from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.wire.addresses import Address
from replication.wire.client.connection import Connection
from replication.wire.messages.fetch import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.oracle.broker import free_port
from tests.replication.cluster.broker.member import SECONDS, SESSION_MS, Ear, settings

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
NODE = 100


class Led:
    """Listens at the same port after each start."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.root = directory / "controller"
        self.address = Address("127.0.0.1", free_port())
        self._settings = ControllerSettings(**{"broker_session_timeout_ms": SESSION_MS, **settings})
        self.node = self._opened()

    def _opened(self) -> StandaloneController:
        listener = ListenerSettings(name="CONTROLLER", address=self.address)
        return StandaloneController.open(self.root, listener, self._settings, node_id=NODE, cluster_id=CLUSTER)

    @property
    def log(self) -> Path:
        """The metadata's directory."""
        return self.root / str(METADATA_PARTITION)

    @property
    def image(self) -> ClusterImage:
        """The cluster as of the last decision."""
        return self.node.controller.published.image

    def close(self) -> None:
        self.node.close()

    def start(self) -> None:
        self.node = self._opened()

    def restart(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.close()
        meanwhile()
        self.start()

    def create(self, *names: str) -> None:
        """Make topics on any brokers that live."""
        answers = self.node.controller.decide(
            lambda deciding: deciding.create_topics([NewTopic(name) for name in names])
        )
        assert not [each.error for each in answers if each.error]

    def write(self, retention_ms: int) -> None:
        """Decide on something that takes no broker."""
        change = SettingChange("log.retention.ms", Operation.SET, str(retention_ms))
        brokers = ConfigResource(ConfigResourceType.BROKER, "")
        self.node.controller.decide(lambda deciding: deciding.change_settings([(brokers, [change])]))

    def agent(self, directories: LogDirectories, ear: Ear | None = None, copy: Path | None = None) -> BrokerAgent:
        """Make one incarnation of the broker that these directories are of."""
        identity = BrokerIdentity.of(directories)
        return BrokerAgent([self.address], identity, settings(), observer=ear, metadata_directory=copy)

    def ask(self, request: Any) -> Any:
        """Ask it by a connection of its own."""
        with Connection.open(self.address) as connection:
            return connection.ask(request)


def fetch(offset: int, epoch: int, last_epoch: int, **fields: Any) -> FetchRequest:
    """What an observer asks whose copy ends at an offset, after a record of `last_epoch`."""
    asked = FetchPartition(offset, 0, epoch, last_epoch, high_watermark=fields.pop("high_watermark", 2**63 - 1))
    request = {"replica_id": 7, "max_wait_ms": 0, "min_bytes": 0, "cluster_id": CLUSTER, **fields}
    return FetchRequest(
        partitions={METADATA_PARTITION: asked}, topic_ids={METADATA_PARTITION.topic: METADATA_TOPIC_ID}, **request
    )


def told(response: FetchResponse) -> FetchedPartition:
    """What an answer says of the metadata."""
    (fetched,) = response.partitions.values()
    return fetched


def has_topic(agent: BrokerAgent, name: str) -> bool:
    """Whether an agent hears of a topic."""
    return agent.metadata.wait_for(lambda image: name in image.topics.by_name, SECONDS)
