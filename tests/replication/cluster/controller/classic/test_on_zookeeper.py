"""ZooKeeper-era controllers over a real ZooKeeper: elected, replaced, and doing their work there."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import pytest
from kazoo.client import KazooClient

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.controller import ClassicController, RunState
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.classic.store.zookeeper_store import ZooKeeperStore
from tests.oracle.zookeeper import ZooKeeperServer

PATIENCE_SECONDS = 60
SESSION_SECONDS = 4.0
P = TopicPartition("t", 0)


@dataclass
class RunningBroker:
    """A broker's thread: it is the controller, or waits to be; commands are answered at once, as if obeyed."""

    broker_id: int
    address: str
    stopping: Event = field(default_factory=Event)
    woken: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.store = ZooKeeperStore(self.address, session_timeout=SESSION_SECONDS)
        self.store.create(f"{nodes.BROKER_IDS}/{self.broker_id}", b"{}", ephemeral=True)
        self.controller = ClassicController(self.broker_id, self.store, wake=self.woken.set)
        self.thread = Thread(target=self._run, name=f"broker {self.broker_id}")
        self.thread.start()

    @property
    def is_controller(self) -> bool:
        return self.controller.state is RunState.CONTROLLER

    def stop(self) -> None:
        self.stopping.set()
        self.woken.set()
        self.thread.join(PATIENCE_SECONDS)
        self.store.close()

    def _run(self) -> None:
        self.controller.start(0)
        while not self.stopping.is_set():
            self.woken.wait()
            self.woken.clear()
            self.controller.process(0)
            for broker_id, queue in self.controller.queues.items():
                while queue.take(0) is not None:
                    self.controller.answered(broker_id)


@dataclass
class RealCluster:
    address: str

    def __post_init__(self) -> None:
        self.admin = ZooKeeperStore(self.address)
        self.brokers = {each: RunningBroker(each, self.address) for each in (1, 2, 3)}

    def controller(self) -> RunningBroker:
        wait_for(lambda: sum(each.is_controller for each in self.brokers.values()) == 1)
        return next(each for each in self.brokers.values() if each.is_controller)

    def state(self, partition: TopicPartition = P) -> LeaderAndIsr | None:
        path = nodes.state_path(partition)
        if not self.admin.exists(path):
            return None
        node = self.admin.get(path)
        return nodes.decode_state(path, node.data, node.version)

    def leads(self, leader: int, isr: set[int]) -> Callable[[], bool]:
        def leads() -> bool:
            state = self.state()
            return state is not None and (state.leader, {*state.isr}) == (leader, isr)

        return leads

    def create_topic(self, *replicas: int) -> None:
        data = nodes.encode_assignments({0: ReplicaAssignment(replicas)})
        self.admin.create(nodes.topic_path("t"), data)

    def kill(self, broker: RunningBroker) -> None:
        del self.brokers[broker.broker_id]
        broker.stop()

    def stop(self) -> None:
        for broker in self.brokers.values():
            broker.stop()
        self.admin.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    with ZooKeeperServer(tmp_path) as running:
        yield running


@pytest.fixture
def cluster(server: ZooKeeperServer) -> Iterator[RealCluster]:
    yield from cluster_on(server.address)


@pytest.fixture
def cluster_of_a_restarting_store(server: ZooKeeperServer) -> Iterator[RealCluster]:
    yield from cluster_on(server.ensemble)


def cluster_on(address: str) -> Iterator[RealCluster]:
    cluster = RealCluster(address)
    try:
        yield cluster
    finally:
        cluster.stop()


def test_a_topic_is_led_moved_and_deleted_while_brokers_and_controllers_die(cluster: RealCluster) -> None:
    first = cluster.controller()
    others = [each for each in cluster.brokers if each != first.broker_id]
    cluster.create_topic(first.broker_id, *others)
    wait_for(cluster.leads(first.broker_id, {1, 2, 3}))
    epoch = first.controller.epoch

    cluster.kill(first)
    second = cluster.controller()
    assert second.controller.epoch == epoch + 1
    wait_for(cluster.leads(others[0], {*others}))

    cluster.admin.create(nodes.REASSIGN_PARTITIONS, nodes.encode_reassignments({P: (others[1],)}))
    wait_for(cluster.leads(others[1], {others[1]}))
    wait_for(lambda: not cluster.admin.exists(nodes.REASSIGN_PARTITIONS))

    cluster.admin.create(f"{nodes.DELETE_TOPICS}/t")
    wait_for(lambda: not cluster.admin.exists(f"{nodes.DELETE_TOPICS}/t"))
    assert not cluster.admin.exists(nodes.topic_path("t"))


def test_after_a_short_absence_of_the_store_the_controller_goes_on(
    cluster_of_a_restarting_store: RealCluster, server: ZooKeeperServer
) -> None:
    cluster = cluster_of_a_restarting_store
    cluster.controller()
    server.stop()
    server.start()
    cluster.create_topic(1, 2, 3)
    wait_for(cluster.leads(1, {1, 2, 3}))
    assert cluster.controller()


def test_a_controller_whose_session_expires_resigns_and_takes_part_again(cluster: RealCluster) -> None:
    first = cluster.controller()
    epoch = first.controller.epoch
    expire(first.store)
    wait_for(lambda: max(each.controller.epoch for each in cluster.brokers.values()) > epoch)
    for broker in [each for each in cluster.brokers.values() if each is not first]:
        cluster.kill(broker)
    # It believes itself to be the controller of the old epoch until it hears of its session's end.
    wait_for(lambda: first.is_controller and first.controller.epoch > epoch)


def expire(store: ZooKeeperStore) -> None:
    """End its session behind its back, in the name of the same client."""
    host, port = store._client.hosts[0]
    twin = KazooClient(hosts=f"{host}:{port}", client_id=store._client.client_id)
    twin.start()
    twin.stop()
    twin.close()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
