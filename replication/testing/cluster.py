"""A cluster of our own brokers, to test clients and tools against."""

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import MappingProxyType, TracebackType
from typing import Final, Self
from uuid import uuid4

from epoch.filesystem import REAL
from logstore import Log, TopicPartition
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import format_uuid
from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.node.broker_node import BrokerNode
from replication.cluster.standalone.controller_work import at_work
from replication.cluster.standalone.new_cluster import begin_cluster
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration
from replication.testing.cluster_defaults import ClusterDefaults
from replication.testing.errors import NotReachedError
from replication.testing.linked_controller_server import LinkedControllerServer
from replication.testing.links import CONTROLLER, Links
from replication.testing.node import Node
from replication.testing.node_process import NodeProcess
from replication.testing.node_settings import NodeSettings
from replication.testing.topic_creation import create_topic
from replication.wire.addresses import Address

_CLUSTER_ID: Final = "epochlog-test-cluster0"
_HEARTBEATS_A_SESSION: Final = 6
_PAUSE_SECONDS: Final = 0.01
_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})
_HOST: Final = "127.0.0.1"
_PORTS: Final = range(20_000, 32_000)
"""Below those that systems give to clients: one of these could take the port of a broker that is down."""
_TRIES: Final = 100


def free_address() -> Address:
    """Return an address of the loopback interface on which nobody listens. Raises OSError after many tries."""
    random = Random()  # noqa: S311  not a secret
    for _ in range(_TRIES):
        address = Address(_HOST, random.choice(_PORTS))
        with socket.socket() as tried:
            try:
                tried.bind(address)
            except OSError:
                continue
        return address
    raise OSError(f"no port of {_HOST} was free in {_TRIES} tries")


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
        processes: bool = False,
        session_timeout_ms: int = 1_500,
        replica_lag_time_max_ms: int = 1_000,
        defaults: Mapping[str, str] = _NO_CONFIGS,
    ) -> None:
        """Start all brokers. Times are shorter than Kafka's, so that tests wait less.

        Files lie in `directory` and stay there; without one, in a temporary directory that `close` removes. A broker
        that is silent for `session_timeout_ms` is fenced (broker.session.timeout.ms), and one whose replica has not
        caught up for `replica_lag_time_max_ms` leaves the ISR.

        `defaults` are settings of the cluster under Kafka's names: those of topics that set nothing themselves, such
        as min.insync.replicas, by the topics' names or the brokers' own, and num.partitions,
        default.replication.factor, auto.create.topics.enable (here false), group.initial.rebalance.delay.ms (here 0)
        and log.cleaner.backoff.ms (here 1000). Raises ValueError for others, for wrong values, and without a broker.

        With `processes` each broker is a process of its own, which reaches the controller in this one over the
        network: `kill` is SIGKILL and a pause SIGSTOP then. What a broker logs is in `broker-N.log` beside its
        directory, and processes end with this one.
        """
        if brokers < 1:
            raise ValueError(f"a cluster needs a broker, and these are {brokers}")
        given = ClusterDefaults.of(defaults)
        self.links: Final = Links([CONTROLLER, *range(1, brokers + 1)])
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
                defaults=given.topics,
                **{"default_replication_factor": min(brokers, 3), **given.controller},
            )
            self.controller: Final = StaticController(_CLUSTER_ID, metadata, settings)
            begin_cluster(self.controller)
            stack.enter_context(at_work(self.controller))
            roots = {broker_id: _formatted(directory, broker_id) for broker_id in range(1, brokers + 1)}
            of_nodes = NodeSettings(
                lag_ms=replica_lag_time_max_ms,
                heartbeat_ms=session_timeout_ms // _HEARTBEATS_A_SESSION,
                shares_groups=brokers > 1,
                topic_defaults=given.topics,
                **given.nodes,
            )
            self._nodes: Final[Mapping[int, Node | NodeProcess]] = (
                self._processes(stack, roots, of_nodes)
                if processes
                else {each: Node(each, root, self.controller, self.links, of_nodes) for each, root in roots.items()}
            )
            stack.callback(self._stop_all)
            self._start_all()
            self._open: Final = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop all that runs. It may be called again."""
        with self._open:  # whatever comes of the links
            self.links.heal()
            for broker_id in self._nodes:
                self.links.resume(broker_id)
            self.links.close()

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
        create_topic(self.controller, name, partitions, replication_factor, replicas, configs)
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

    def leads(self, topic: str, number: int = 0) -> bool:
        """Whether a partition has a leader that knows it by now."""
        partition = self.partition(topic, number)
        node = self._nodes.get(partition.leader)
        return node is not None and node.leads(TopicPartition(topic, number), partition.leader_epoch)

    def is_up(self, broker_id: int) -> bool:
        """Whether a broker was started, and neither stopped nor killed since. Raises KeyError."""
        return self._nodes[broker_id].is_up

    def pid(self, broker_id: int) -> int | None:
        """Return the id of the process that a broker lives in; None while it is down. Raises KeyError."""
        return self._nodes[broker_id].pid

    def broker(self, broker_id: int) -> BrokerNode:
        """Return a broker that is up. Raises ValueError where it is not, or is another process, and KeyError."""
        node = self._nodes[broker_id]
        if isinstance(node, NodeProcess):
            where = f"ask it over the network, at {node.address}"
            raise ValueError(f"broker {broker_id} is a process of its own: {where}")  # noqa: TRY004  no type is wrong
        broker = node.broker
        if broker is None:
            raise ValueError(f"broker {broker_id} is down")
        return broker

    def root(self, broker_id: int) -> Path:
        """Return a broker's log.dirs root."""
        return self._nodes[broker_id].root

    def log(self, broker_id: int, topic: str, number: int = 0) -> Log:
        """Return a replica of a broker that is up. Raises ValueError like `broker`, and KeyError where it has none."""
        log = self.broker(broker_id).replicas.hosted[TopicPartition(topic, number)].log
        assert isinstance(log, Log)  # noqa: S101  brokers here write
        return log

    # --- what happens to it

    def stop(self, broker_id: int) -> None:
        """Shut down a broker in a controlled way: it hands over what it leads first."""
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

        self.wait_until(lambda: self.leads(topic, number), f"{partition} is led", seconds=seconds)
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

    def _processes(self, stack: ExitStack, roots: Mapping[int, Path], settings: NodeSettings) -> dict[int, NodeProcess]:
        """Return the brokers, and serve the controller for them."""
        starter = ThreadPoolExecutor(1, "broker-starter")
        stack.callback(starter.shutdown)
        server = stack.enter_context(LinkedControllerServer(self.controller, self.links))
        return {
            broker_id: NodeProcess(broker_id, root, free_address(), server.address, self.links, starter, settings)
            for broker_id, root in roots.items()
        }

    def _start_all(self) -> None:
        """Start all at once: a process takes a second or two."""
        with ThreadPoolExecutor(len(self._nodes) or 1) as threads:
            list(threads.map(lambda node: node.start(), self._nodes.values()))

    def _stop_all(self) -> None:
        with ExitStack() as stack:  # each, whatever comes of the others
            for node in self._nodes.values():
                if node.is_up:
                    stack.callback(node.kill)


def _formatted(directory: Path, broker_id: int) -> Path:
    """Return a broker's log.dirs root, formatted for it."""
    root = directory / f"broker-{broker_id}"
    path = root / META_PROPERTIES_NAME
    if not path.exists():
        REAL.make_directories(root)
        MetaProperties(1, _CLUSTER_ID, broker_id, format_uuid(uuid4())).write(path)
    return root
