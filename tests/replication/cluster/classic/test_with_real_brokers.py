"""A controller of ours for brokers of Kafka 3.9.2 on a real ZooKeeper, where each of them can be the controller."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from logstore.topic_partition import TopicPartition as Partition
from replication.cluster.classic.classic_node import ClassicNode, ClassicNodeSettings
from replication.cluster.controller.classic.errors import NoNodeError
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.classic.store.zookeeper_store import ZooKeeperStore
from replication.wire.addresses import Address
from replication.wire.client.connection import Connection
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionType, ElectLeadersRequest
from replication.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.oracle.classic_cluster import IDS, ClassicBrokers
from tests.oracle.zookeeper import ZooKeeperServer

PATIENCE_SECONDS = 300
OURS = 1_000
SESSION_SECONDS = 8.0
ORDERS = Partition("orders", 0)
ALTER_PARTITION_REASSIGNMENTS = 45


@dataclass
class Scene:
    """The cluster as its clients and its store have it."""

    node: ClassicNode
    brokers: ClassicBrokers
    admin: ZooKeeperStore
    produced: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.client = AdminClient({"bootstrap.servers": self.brokers.bootstrap})

    def state(self, partition: Partition = ORDERS) -> LeaderAndIsr:
        path = nodes.state_path(partition)
        node = self.admin.get(path)
        return nodes.decode_state(path, node.data, node.version)

    def controller(self) -> int | None:
        try:
            return nodes.decode_controller(nodes.CONTROLLER, self.admin.get(nodes.CONTROLLER).data)
        except NoNodeError:
            return None

    def create(self, topic: str, *replicas: int) -> None:
        new = NewTopic(topic, 1, replica_assignment=[[*replicas]])
        for future in self.client.create_topics([new], operation_timeout=PATIENCE_SECONDS).values():
            future.result(PATIENCE_SECONDS)
        self.produced[topic] = 0

    def produce(self, topic: str, count: int = 50) -> None:
        """With acks=all, and as an idempotent producer: each record is in all logs that are in sync, once."""
        failures: list[KafkaError | None] = []
        producer = Producer(
            {
                "bootstrap.servers": self.brokers.bootstrap,
                "enable.idempotence": True,
                "delivery.timeout.ms": 1_000 * PATIENCE_SECONDS,
            }
        )
        for number in range(count):
            producer.produce(topic, f"{number}", on_delivery=lambda error, _: failures.append(error))
        assert producer.flush(PATIENCE_SECONDS) == 0
        assert failures == [None] * count
        self.produced[topic] += count

    def consume(self, topic: str) -> list[int]:
        """The offsets of all records that were produced."""
        offsets: list[int] = []
        settings = {"bootstrap.servers": self.brokers.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
        consumer = Consumer({**settings, "topic.metadata.refresh.interval.ms": 1_000})
        consumer.assign([TopicPartition(topic, 0, 0)])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(offsets) < self.produced[topic]:
            assert time.monotonic() < deadline
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                offset = message.offset()
                assert offset is not None
                offsets.append(offset)
        consumer.close()
        return offsets

    def ask(self, request: Any) -> Any:
        """Ask the controller itself."""
        with Connection.open(Address(self.node.listener.host, self.node.listener.port)) as connection:
            return connection.ask(request)

    def all_in_sync(self, partition: Partition = ORDERS) -> bool:
        return {*self.state(partition).isr} == {*IDS}

    def lead_again(self) -> None:
        """Let ours be elected: whoever is the controller loses its slot while nobody else can take it."""
        while not self.node.is_controller:
            self.brokers.pause(IDS)
            try:
                if self.controller() != OURS:
                    with suppress(NoNodeError):
                        self.admin.delete(nodes.CONTROLLER)
                wait_for(lambda: self.controller() == OURS)
            finally:
                self.brokers.resume(IDS)
            wait_for(lambda: self.node.is_controller or self.controller() != OURS)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("classic")
    with ZooKeeperServer(directory) as zookeeper:
        where = f"{zookeeper.address}/kafka"
        with (
            ClassicNode.open(settings(where)) as node,
            ClassicBrokers(directory, where, round(1_000 * SESSION_SECONDS)) as brokers,
        ):
            wait_for(lambda: node.is_controller)  # before the brokers, which would be elected otherwise
            brokers.start(*IDS)
            wait_for(lambda: node.broker_epochs.keys() == {*IDS})
            admin = ZooKeeperStore(where)
            scene = Scene(node, brokers, admin)
            wait_for(lambda: known_brokers(scene) == {*IDS, OURS})
            yield scene
            admin.close()


def settings(where: str, broker_id: int = OURS) -> ClassicNodeSettings:
    return ClassicNodeSettings(
        broker_id=broker_id, zookeeper=where, session_seconds=SESSION_SECONDS, listen=Address("127.0.0.1", 0)
    )


def known_brokers(scene: Scene) -> set[int]:
    """Those that a client is told of."""
    return {*scene.client.list_topics(timeout=PATIENCE_SECONDS).brokers}


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_clients_find_it_and_have_it_create_a_topic(scene: Scene) -> None:
    assert scene.client.list_topics(timeout=PATIENCE_SECONDS).controller_id == OURS
    scene.create("orders", 1, 2, 3)
    assert scene.state().leader == 1
    scene.produce("orders")
    wait_for(scene.all_in_sync)


def test_where_a_leader_dies_another_one_leads_and_the_first_returns_to_the_isr(scene: Scene) -> None:
    before = scene.state()
    scene.brokers.kill(1)
    wait_for(lambda: scene.state().leader in {2, 3})
    assert 1 not in scene.state().isr
    assert scene.state().leader_epoch > before.leader_epoch
    scene.produce("orders")
    scene.brokers.start(1)
    wait_for(scene.all_in_sync)
    assert scene.consume("orders") == list(range(scene.produced["orders"]))


def test_an_election_that_is_asked_for_brings_leadership_back(scene: Scene) -> None:
    assert scene.state().leader != 1
    asked = ElectLeadersRequest(election_type=ElectionType.PREFERRED, partitions=(ORDERS,))
    wait_for(lambda: scene.ask(asked).results[ORDERS].error is not ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
    assert scene.state().leader == 1
    assert scene.ask(asked).results[ORDERS].error is ErrorCode.ELECTION_NOT_NEEDED
    scene.produce("orders")


def test_a_broker_that_shuts_down_in_order_hands_over_first(scene: Scene) -> None:
    scene.brokers.stop(1)
    assert scene.state().leader in {2, 3}
    assert 1 not in scene.state().isr
    scene.produce("orders")
    scene.brokers.start(1)
    wait_for(scene.all_in_sync)


def test_a_partition_moves(scene: Scene) -> None:
    scene.create("moving", 1)
    scene.produce("moving")
    kinds: Any = request_classes(ALTER_PARTITION_REASSIGNMENTS, 0)
    partition = kinds.ReassignablePartition(partition_index=0, replicas=(3, 2))
    topic = kinds.ReassignableTopic(name="moving", partitions=(partition,))
    (answer,) = scene.ask(kinds.AlterPartitionReassignmentsRequest(topics=(topic,))).responses
    assert [each.error_code for each in answer.partitions] == [ErrorCode.NONE]
    wait_for(lambda: scene.ask(ListPartitionReassignmentsRequest()).partitions == {})
    moving = Partition("moving", 0)
    wait_for(lambda: {*scene.state(moving).isr} == {2, 3})
    assert scene.state(moving).leader in {2, 3}
    assert scene.consume("moving") == list(range(50))


def test_partitions_are_added(scene: Scene) -> None:
    for future in scene.client.create_partitions([NewPartitions("moving", 2, [[2, 1]])]).values():
        future.result(PATIENCE_SECONDS)
    assert scene.state(Partition("moving", 1)).leader == 2
    wait_for(lambda: len(scene.client.list_topics("moving", timeout=PATIENCE_SECONDS).topics["moving"].partitions) == 2)


def test_a_topic_is_deleted(scene: Scene) -> None:
    for future in scene.client.delete_topics(["moving"]).values():
        future.result(PATIENCE_SECONDS)
    wait_for(lambda: not scene.admin.exists(nodes.topic_path("moving")))
    wait_for(lambda: "moving" not in scene.client.list_topics(timeout=PATIENCE_SECONDS).topics)


def test_kafkas_controller_takes_over_where_ours_loses_its_slot_and_ours_takes_over_again(scene: Scene) -> None:
    epoch = scene.node.epoch
    scene.admin.delete(nodes.CONTROLLER)  # whoever is first is elected, and that may be ours again
    wait_for(lambda: scene.controller() is not None)
    scene.produce("orders")
    scene.lead_again()
    assert scene.node.epoch > epoch
    wait_for(lambda: scene.node.broker_epochs.keys() == {*IDS})
    scene.create("later", 2, 3, 1)
    scene.produce("later")
    scene.brokers.kill(2)
    wait_for(lambda: scene.state(Partition("later", 0)).leader in {1, 3})
    scene.brokers.start(2)
    wait_for(lambda: scene.all_in_sync(Partition("later", 0)))
    assert scene.consume("later") == list(range(50))
    assert scene.consume("orders") == list(range(scene.produced["orders"]))


def test_another_one_of_ours_takes_over_and_the_registration_goes_with_the_first(scene: Scene) -> None:
    with ClassicNode.open(settings(f"{scene.admin._connect}", OURS + 1)) as second:
        assert not scene.admin.exists(f"{nodes.BROKER_IDS}/{OURS + 1}")
        scene.brokers.pause(IDS)
        try:
            scene.node._controller.resign()
            wait_for(lambda: scene.controller() in {OURS, OURS + 1})
        finally:
            scene.brokers.resume(IDS)
        leads, waits = (second, scene.node) if scene.controller() == OURS + 1 else (scene.node, second)
        wait_for(lambda: leads.is_controller)
        assert not waits.is_controller
        assert scene.admin.exists(f"{nodes.BROKER_IDS}/{OURS + 1}") is (leads is second)
        scene.produce("orders")
    assert not scene.admin.exists(f"{nodes.BROKER_IDS}/{OURS + 1}")
