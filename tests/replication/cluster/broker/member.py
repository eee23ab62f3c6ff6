"""A broker of ours for a test: its log.dirs on disk, an agent for each start, and what its observer heard."""

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from kio.schema.create_topics.v7.request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

from logstore.directory.log_directories import LogDirectories
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import format_uuid
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.broker_settings import BrokerSettings
from replication.cluster.broker.lifecycle.broker_agent import BrokerAgent
from replication.cluster.broker.lifecycle.lifecycle import BrokerState
from replication.cluster.broker.lifecycle.lifecycle_observer import LifecycleObserver
from replication.records.metadata.image_publisher import PublishedImage
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_registration import Listener
from tests.oracle.cluster import CLUSTER_ID, CONTROLLER, KafkaCluster

SECONDS = 120
"""Until when a busy machine must have done what a quiet one does at once."""
SESSION_MS = 6_000
HEARTBEAT_MS = 200


class Ear(LifecycleObserver):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.states: list[BrokerState] = []
        self.epochs: list[int] = []
        self.fencings: list[str] = []
        self.refusals: list[Exception] = []
        self.answers: list[str] = []
        self.controllers: list[str] = []
        self.interruptions: list[Exception] = []
        self.published: list[PublishedImage] = []
        self._heard = threading.Condition()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Return once it has heard enough."""
        with self._heard:
            assert self._heard.wait_for(condition, SECONDS)

    def state_changed(self, state: BrokerState) -> None:
        self._hear(self.states, state)

    def registered(self, broker_epoch: int) -> None:
        self._hear(self.epochs, broker_epoch)

    def fenced(self) -> None:
        self._hear(self.fencings, "fenced")

    def unfenced(self) -> None:
        self._hear(self.fencings, "unfenced")

    def refused(self, error: Exception) -> None:
        self._hear(self.refusals, error)

    def answered(self) -> None:
        self._hear(self.answers, "answered")

    def controller_changed(self, address: str) -> None:
        self._hear(self.controllers, address)

    def metadata_interrupted(self, error: Exception) -> None:
        self._hear(self.interruptions, error)

    def metadata_published(self, published: PublishedImage) -> None:
        self._hear(self.published, published)

    def _hear(self, what: list[Any], news: object) -> None:
        with self._heard:
            what.append(news)
            self._heard.notify_all()


def format_root(root: Path, broker_id: int, cluster_id: str = CLUSTER_ID) -> UUID:
    """Make a log.dirs root for a broker, and return its id."""
    root.mkdir(parents=True)
    directory_id = uuid4()
    MetaProperties(1, cluster_id, broker_id, format_uuid(directory_id)).write(root / META_PROPERTIES_NAME)
    return directory_id


def settings(port: int = 9, **changes: Any) -> BrokerSettings:
    """What a broker says that listens on `port`, and beats quickly."""
    timing = {"heartbeat_interval_ms": HEARTBEAT_MS, "session_timeout_ms": SESSION_MS}
    return BrokerSettings(listeners=(Listener("PLAINTEXT", "127.0.0.1", port),), **(timing | changes))


def controllers(cluster: KafkaCluster) -> str:
    """Where a cluster's controller listens."""
    return f"127.0.0.1:{cluster.ports[CONTROLLER]}"


class Agents:
    """Makes agents at one cluster's controller, and ends all of them."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._made: list[BrokerAgent] = []

    def __call__(self, directories: LogDirectories, ear: Ear | None = None, **changes: Any) -> BrokerAgent:
        """Make one incarnation of the broker that these directories are of."""
        identity = BrokerIdentity.of(directories)
        made = BrokerAgent(controllers(self._cluster), identity, settings(**changes), observer=ear)
        self._made.append(made)
        return made

    def close(self) -> None:
        for made in self._made:
            made.close()


def run(member: BrokerAgent) -> None:
    """Start it, and let it run until the metadata says so too."""
    member.start()
    member.wait_until_caught_up(SECONDS)
    member.ready_to_unfence()
    member.wait_until_running(SECONDS)
    wait_until(member, fenced=False)


def wait_until(member: BrokerAgent, *, fenced: bool) -> None:
    """Wait until the metadata says so of this broker."""
    broker_id = member.identity.broker_id
    assert member.metadata.wait_for(lambda image: image.brokers[broker_id].fenced is fenced, SECONDS)


def create_topic(cluster: KafkaCluster, name: str, replicas: list[int], **configs: str) -> None:
    """Create a topic of one partition on these brokers, through broker 1: ours serves no clients."""
    placed = CreatableReplicaAssignment(partition_index=0, broker_ids=tuple(replicas))
    topic = CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=(placed,),
        configs=tuple(CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()),
    )
    with Connection.open(cluster.bootstrap(1)) as connection:
        answer = connection.ask(CreateTopicsRequest(topics=(topic,), timeout=timedelta(seconds=SECONDS)))
    assert answer.topics[0].error_code == ErrorCode.NONE, answer.topics[0]
