"""A cluster of our own brokers in this process, to test clients and tools against."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType, TracebackType
from typing import Final, Self
from uuid import uuid4

from epoch.filesystem import REAL
from logstore import Log, TopicPartition
from logstore.files.meta_properties import META_PROPERTIES_NAME, MetaProperties
from logstore.files.partition_metadata import format_uuid
from replication.controller.controller import ControllerSettings
from replication.controller.topics.topics import NewTopic
from replication.metadata.image import ClusterImage
from replication.metadata.partition import PartitionRegistration
from replication.node.broker_node import BrokerNode
from replication.protocol.addresses import Address
from replication.protocol.error_code import ErrorCode
from replication.standalone.controller_thread import ControllerThread
from replication.standalone.new_cluster import begin_cluster
from replication.standalone.static_controller import StaticController
from replication.standalone.stored_metadata import StoredMetadata
from replication.testing.errors import NotReachedError
from replication.testing.links import Links
from replication.testing.node import Node

_CLUSTER_ID: Final = "epochlog-test-cluster0"
_HEARTBEATS_A_SESSION: Final = 6
_PAUSE_SECONDS: Final = 0.01
_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})


class Cluster:
    """Brokers 1 to N with a controller of their own, on free ports of the loopback interface.

    They store, replicate and elect as Kafka's do: so clients find in it what they find in a cluster of Kafka. What
    happens to a broker is chosen by the test.

    >>> with Cluster(brokers=3) as cluster:
    ...     cluster.create_topic("orders", replication_factor=3, configs={"min.insync.replicas": "2"})
    ...     cluster.kill(cluster.leader("orders"), lose_unflushed=True)
    ...     cluster.wait_for_leader("orders")
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        directory: Path | None = None,
        session_timeout_ms: int = 1_500,
        replica_lag_time_max_ms: int = 1_000,
        defaults: Mapping[str, str] = _NO_CONFIGS,
    ) -> None:
        """Start all brokers. Times are shorter than Kafka's, so that tests wait less.

        Files lie in `directory` and stay there; without one, in a temporary directory that `close` removes. A broker
        that is silent for `session_timeout_ms` is fenced (broker.session.timeout.ms), and one whose replica has not
        caught up for `replica_lag_time_max_ms` leaves the ISR. `defaults` are the controller's, for topics that set
        nothing: min.insync.replicas, unclean.leader.election.enable.
        """
        self.links: Final = Links()
        """Who reaches whom."""
        with ExitStack() as stack:
            if directory is None:
                directory = Path(stack.enter_context(TemporaryDirectory(prefix="epochlog-cluster-")))
            self.directory: Final = directory
            metadata = StoredMetadata.open(directory / "controller")
            stack.callback(metadata.close)
            settings = ControllerSettings(
                broker_session_timeout_ms=session_timeout_ms,
                leader_imbalance_check_interval_ms=None,
                default_replication_factor=min(brokers, 3),
                defaults=dict(defaults),
            )
            self.controller: Final = StaticController(_CLUSTER_ID, metadata, settings)
            begin_cluster(self.controller)
            thread = ControllerThread(self.controller)
            stack.callback(thread.stop)
            thread.start()
            self._nodes: Final = {
                broker_id: Node(
                    broker_id,
                    _formatted(directory, broker_id),
                    self.controller,
                    self.links,
                    lag_ms=replica_lag_time_max_ms,
                    heartbeat_ms=session_timeout_ms // _HEARTBEATS_A_SESSION,
                )
                for broker_id in range(1, brokers + 1)
            }
            stack.callback(self._stop_all)
            for node in self._nodes.values():
                node.start()
            self._open: Final = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop all that runs. It may be called again."""
        self.links.heal()
        for broker_id in self._nodes:
            self.links.resume(broker_id)
        self._open.close()

    # --- what clients need

    @property
    def bootstrap(self) -> str:
        """What clients connect to first, whether those brokers are up or not."""
        return ",".join(str(node.address) for node in self._nodes.values())

    def address(self, broker_id: int) -> Address:
        """Return where a broker listens, whether it is up or not. Raises KeyError."""
        return self._nodes[broker_id].address

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = -1,
        replicas: Sequence[Sequence[int]] = (),
        configs: Mapping[str, str] = _NO_CONFIGS,
    ) -> None:
        """Make a topic and wait until it is led; `replicas` names the brokers of each partition, leaders first.

        Raises ValueError where the controller refuses, and NotReachedError.
        """
        assigned = {number: tuple(each) for number, each in enumerate(replicas)}
        topic = NewTopic(
            name, -1 if assigned else partitions, -1 if assigned else replication_factor, assigned, configs
        )
        (answer,) = self.controller.decide(lambda deciding: deciding.create_topics([topic]))
        if answer.error is not ErrorCode.NONE:
            raise ValueError(f"{name}: {answer.error.name}{f': {answer.message}' if answer.message else ''}")
        for number in self.image.topics.by_name[name].partitions:
            self.wait_for_leader(name, number)

    # --- what it is like

    @property
    def image(self) -> ClusterImage:
        """The cluster as its controller knows it."""
        return self.controller.published.image

    def partition(self, topic: str, number: int = 0) -> PartitionRegistration:
        """Return a partition as the controller knows it. Raises LookupError."""
        return self.image.topics.by_name[topic].partitions[number]

    def leader(self, topic: str, number: int = 0) -> int:
        """Return the broker that leads a partition; -1 where none does."""
        return self.partition(topic, number).leader

    def broker(self, broker_id: int) -> BrokerNode:
        """Return a broker that is up. Raises ValueError where it is not, and KeyError."""
        broker = self._nodes[broker_id].broker
        if broker is None:
            raise ValueError(f"broker {broker_id} is down")
        return broker

    def root(self, broker_id: int) -> Path:
        """Return a broker's log.dirs root."""
        return self._nodes[broker_id].root

    def log(self, broker_id: int, topic: str, number: int = 0) -> Log:
        """Return a replica of a broker that is up. Raises KeyError where it has none."""
        log = self.broker(broker_id).replicas.hosted[TopicPartition(topic, number)].log
        assert isinstance(log, Log)  # noqa: S101  brokers here write
        return log

    # --- what happens to it

    def stop(self, broker_id: int) -> None:
        """Let a broker leave in order: it hands over what it leads first."""
        self._nodes[broker_id].stop()

    def kill(self, broker_id: int, *, lose_unflushed: bool = False) -> int:
        """End a broker at once, as SIGKILL does, or a loss of power; return how many bytes of its files are lost."""
        return self._nodes[broker_id].kill(lose_unflushed=lose_unflushed)

    def start(self, broker_id: int) -> None:
        """Start a broker that is down, on its directory and its port."""
        self._nodes[broker_id].start()

    # --- waiting

    def wait_for_leader(self, topic: str, number: int = 0, *, seconds: float = 30.0) -> int:
        """Return the leader of a partition, once there is one and it leads. Raises NotReachedError."""
        partition = TopicPartition(topic, number)

        def leads() -> bool:
            broker = self._broker_or_none(self.leader(topic, number))
            hosted = None if broker is None else broker.replicas.hosted.get(partition)
            return hosted is not None and hosted.leader_epoch == self.partition(topic, number).leader_epoch

        self.wait_until(leads, f"{partition} is led", seconds=seconds)
        return self.leader(topic, number)

    def wait_for_isr(self, topic: str, number: int = 0, *, size: int, seconds: float = 30.0) -> None:
        """Return once so many replicas of a partition are in sync. Raises NotReachedError."""
        wanted = f"{size} replicas of {topic}-{number} are in sync"
        self.wait_until(lambda: len(self.partition(topic, number).isr) == size, wanted, seconds=seconds)

    def wait_until(self, holds: Callable[[], bool], wanted: str, *, seconds: float = 30.0) -> None:
        """Return once something holds; `wanted` says what. Raises NotReachedError after so many seconds."""
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                raise NotReachedError(wanted, seconds)
            time.sleep(_PAUSE_SECONDS)

    def _broker_or_none(self, broker_id: int) -> BrokerNode | None:
        node = self._nodes.get(broker_id)
        return None if node is None else node.broker

    def _stop_all(self) -> None:
        with ExitStack() as stack:  # each, whatever comes of the others
            for node in self._nodes.values():
                if node.broker is not None:
                    stack.callback(node.kill)


def _formatted(directory: Path, broker_id: int) -> Path:
    """Return a broker's log.dirs root, formatted for it."""
    root = directory / f"broker-{broker_id}"
    path = root / META_PROPERTIES_NAME
    if not path.exists():
        REAL.make_directories(root)
        MetaProperties(1, _CLUSTER_ID, broker_id, format_uuid(uuid4())).write(path)
    return root
