"""Kafka's own brokers in a cluster whose controller is ours: all that they ask of it, and what their clients notice."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from logstore.directory.log_directories import LogDirectories
from logstore.files.partition_metadata import format_uuid
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.node import BrokerNode, BrokerNodeSettings, NetworkLink
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools
from tests.replication.cluster.broker.member import HEARTBEAT_MS, format_root
from tests.replication.cluster.serving.java_tools import run_tool
from tests.replication.cluster.standalone.clients import produce, read
from tests.replication.cluster.standalone.quorum.led import CLUSTER, NODE, Led

SECONDS = 120
OURS = 9
TOPIC = "orders"


class LedBrokers(KafkaCluster):
    """Brokers alone: one is told where the controller of this process listens, the other that it is a voter."""

    def __init__(self, directory: Path, release: KafkaRelease, led: Led, brokers: int) -> None:
        self._address = led.address
        self._told = 0
        super().__init__(directory, release, brokers)

    @property
    def nodes(self) -> Sequence[int]:
        return self.ids

    def _configuration(self, node: int) -> Path:
        self._told = node
        return super()._configuration(node)

    def _quorum_settings(self) -> Mapping[str, object]:
        if self._told == 1:
            return {"controller.quorum.bootstrap.servers": self._address}
        return {"controller.quorum.voters": f"{NODE}@{self._address}"}


@pytest.fixture(scope="module")
def led(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Led]:
    with closing(Led(tmp_path_factory.mktemp("led"), broker_session_timeout_ms=5_000)) as led:
        yield led


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease, led: Led) -> Iterator[LedBrokers]:
    with LedBrokers(tmp_path_factory.mktemp("brokers"), release, led, 2) as brokers:
        wait_for(led, lambda image: all(node in image.brokers and not image.brokers[node].fenced for node in (1, 2)))
        yield brokers


def wait_for(led: Led, holds: Callable[[ClusterImage], bool]) -> None:
    """Return once something holds of what has been decided."""
    deadline = time.monotonic() + SECONDS
    while not holds(led.image):
        assert time.monotonic() < deadline, led.image
        time.sleep(0.1)


def create(bootstrap: str, topic: str) -> None:
    """Have a broker make a topic with a replica on both; it passes that on to the controller."""
    client = AdminClient({"bootstrap.servers": bootstrap})
    client.create_topics([NewTopic(topic, 1, 2)])[topic].result(SECONDS)


def partition_of(image: ClusterImage, topic: str = TOPIC) -> PartitionRegistration:
    return image.topics.by_name[topic].partitions[0]


def test_they_register_are_unfenced_and_clients_write_and_read(led: Led, brokers: LedBrokers) -> None:
    create(brokers.bootstrap(), TOPIC)
    values = [b"%d" % number for number in range(500)]
    assert produce(brokers.bootstrap(), TOPIC, values, **{"enable.idempotence": True}) == []
    assert [each.value for each in read(brokers.bootstrap(), TOPIC)] == values
    wait_for(led, lambda image: set(partition_of(image).isr) == {1, 2})
    directories = {each for broker in led.image.brokers.values() for each in broker.directories}
    wait_for(led, lambda image: set(partition_of(image).directories) == directories)
    assert led.image.next_producer_id > 0


def test_groups_and_transactions_work_as_their_topics_are_made(led: Led, brokers: LedBrokers) -> None:
    bootstrap, topic = brokers.bootstrap(), "transfers"
    create(bootstrap, topic)
    producer = ck.Producer({"bootstrap.servers": bootstrap, "transactional.id": "transfers"})
    producer.init_transactions(SECONDS)
    for commits in (True, False, True):
        producer.begin_transaction()
        producer.produce(topic, b"committed" if commits else b"aborted")
        if commits:
            producer.commit_transaction(SECONDS)
        else:
            producer.abort_transaction(SECONDS)
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": "told", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    values: list[bytes | None] = []
    deadline = time.monotonic() + SECONDS
    while len(values) < 2 and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            values.append(message.value())
    consumer.commit(asynchronous=False)
    consumer.close()
    assert values == [b"committed", b"committed"]
    assert {"__consumer_offsets", "__transaction_state"} <= led.image.topics.by_name.keys()


def test_kafkas_tools_know_the_quorum_and_the_cluster(led: Led, brokers: LedBrokers, release: KafkaRelease) -> None:
    at_controller = ("--bootstrap-controller", led.address)
    with KafkaTools(release) as tools:
        status = run_tool(tools, "kafka-metadata-quorum", *at_controller, "describe", "--status")
        through = run_tool(
            tools, "kafka-metadata-quorum", "--bootstrap-server", brokers.bootstrap(), "describe", "--status"
        )
        replication = run_tool(tools, "kafka-metadata-quorum", *at_controller, "describe", "--replication")
        features = run_tool(tools, "kafka-features", *at_controller, "describe")
        cluster = run_tool(tools, "kafka-cluster", "cluster-id", *at_controller)
        endpoints = run_tool(tools, "kafka-cluster", "list-endpoints", *at_controller)
        defaults = run_tool(
            tools, "kafka-configs", *at_controller, "--describe", "--entity-type", "brokers", "--entity-default"
        )
        absent = tools.run("kafka-cluster", "unregister", "--id", "9", *at_controller)
        upgrade = ("upgrade", "--feature", "group.version=1")
        raised = tools.run("kafka-features", "--bootstrap-server", brokers.bootstrap(), *upgrade)
    directory_id = led.node.server.quorum.directory_id
    assert directory_id is not None
    identity = f'"id": {NODE}, "directoryId": "{format_uuid(directory_id)}"'
    for told in (status, through):
        lines = " ".join(told.split())
        assert f"LeaderId: {NODE}" in lines
        assert f'CurrentVoters: [{{{identity}, "endpoints": ["CONTROLLER://{led.address}"]}}]' in lines
        assert told.count('"directoryId"') == 3, "the brokers' too, which observe"
    rows = [line.split() for line in replication.splitlines()[1:]]
    assert [(row[0], row[-1]) for row in rows] == [(str(NODE), "Leader"), ("1", "Observer"), ("2", "Observer")]
    finalized = {name: level for name, level in led.image.features.items() if name != "metadata.version"}
    assert finalized
    for name, level in finalized.items():
        (line,) = [each for each in features.splitlines() if f"Feature: {name}" in each]
        assert f"FinalizedVersionLevel: {level}" in line
    assert "FinalizedVersionLevel: 4.3-IV0" in features
    (kraft,) = [each for each in features.splitlines() if "kraft.version" in each]
    assert "FinalizedVersionLevel: 1" in kraft
    assert led.node.controller.cluster_id in cluster
    assert endpoints.split()[-5:-3] == [str(NODE), led.address.host]
    assert "min.insync.replicas=1" in defaults
    assert "9 is not currently registered" in absent.out + absent.err
    assert "UPDATE_FEATURES" in raised.out + raised.err, "it is not offered"


def test_a_restart_of_the_controller_is_not_noticed_by_clients(led: Led, brokers: LedBrokers) -> None:
    before, errors = led.image.topics, [""]
    led.restart(lambda: errors.__setitem__(slice(None), produce(brokers.bootstrap(), TOPIC, [b"meanwhile"])))
    assert errors == []
    assert led.image.topics == before
    create(brokers.bootstrap(), "later")
    assert produce(brokers.bootstrap(), "later", [b"first"]) == []
    assert not any(broker.fenced for broker in led.image.brokers.values())
    assert led.node.server.quorum.leader.leader_epoch > 0


def test_one_that_dies_is_fenced_another_leads_and_it_is_in_sync_again_after_its_return(
    led: Led, brokers: LedBrokers
) -> None:
    leader = partition_of(led.image).leader
    other = 3 - leader
    brokers.kill(leader)
    wait_for(led, lambda image: image.brokers[leader].fenced and partition_of(image).leader == other)
    assert produce(brokers.bootstrap(other), TOPIC, [b"alone"]) == []
    brokers.start(leader)
    wait_for(led, lambda image: set(partition_of(image).isr) == {1, 2})
    values = [each.value for each in read(brokers.bootstrap(leader), TOPIC)]
    assert values[-2:] == [b"meanwhile", b"alone"]


def test_one_that_stops_in_order_hands_over_what_it_leads(led: Led, brokers: LedBrokers) -> None:
    leader = partition_of(led.image).leader
    epoch = led.image.brokers[leader].epoch
    brokers.stop(leader)
    assert led.image.brokers[leader].fenced
    assert led.image.brokers[leader].epoch == epoch
    assert partition_of(led.image).leader == 3 - leader
    brokers.start(leader)
    wait_for(led, lambda image: set(partition_of(image).isr) == {1, 2})


def test_a_broker_of_ours_and_one_of_kafkas_lead_and_follow_each_other(
    led: Led, brokers: LedBrokers, tmp_path: Path
) -> None:
    theirs, topic = 1, "shared"
    format_root(tmp_path / "ours", OURS, CLUSTER)
    with LogDirectories.open([tmp_path / "ours"], periodic=True, replicated=True) as directories:
        link = NetworkLink([led.address], BrokerIdentity.of(directories))
        settings = BrokerNodeSettings(
            listener=ListenerSettings(address=Address("127.0.0.1", 0)), heartbeat_interval_ms=HEARTBEAT_MS
        )
        with closing(BrokerNode(link, directories, settings)) as ours:
            bootstrap = f"{brokers.bootstrap(theirs)},{ours.address}"
            placed = NewTopic(topic, 1, replica_assignment=[[theirs, OURS]])
            client = AdminClient({"bootstrap.servers": str(ours.address)})
            client.create_topics([placed])[topic].result(SECONDS)
            for leader in (theirs, OURS):
                assert produce(bootstrap, topic, [b"led by %d" % leader]) == []
                wait_for(led, lambda image: set(partition_of(image, topic).isr) == {theirs, OURS})
                if leader == theirs:
                    brokers.stop(theirs)
                    assert partition_of(led.image, topic).leader == OURS
                    brokers.start(theirs)
            values = [each.value for each in read(bootstrap, topic)]
            assert values == [b"led by 1", b"led by 9"]
        wait_for(led, lambda image: partition_of(image, topic).leader == theirs)
        assert [each.value for each in read(brokers.bootstrap(theirs), topic)] == values
