"""librdkafka's administrator makes topics, sets them and deletes them at a broker that is its own controller."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    ConsumerGroupTopicPartitions,
    ElectionType,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.cluster.standalone.standalone_broker import StandaloneBroker
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings

SECONDS = 30


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[StandaloneBroker]:
    listener = ListenerSettings(address=Address("127.0.0.1", 0))
    settings = BrokerNodeSettings(listener=listener, auto_create_topics=True)
    with StandaloneBroker.open([tmp_path / "data"], settings) as broker:
        yield broker


@pytest.fixture
def bootstrap(broker: StandaloneBroker) -> str:
    host, port = broker.local.address
    return f"{host}:{port}"


@pytest.fixture
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def partitions(admin: AdminClient, topic: str) -> int:
    known = admin.list_topics(timeout=SECONDS).topics
    return len(known[topic].partitions) if topic in known else 0


def setting(admin: AdminClient, name: str) -> str:
    resource = ConfigResource(ResourceType.TOPIC, "orders")
    told: str = admin.describe_configs([resource])[resource].result(SECONDS)[name].value
    return told


def test_a_topic_s_life(admin: AdminClient) -> None:
    admin.create_topics([NewTopic("orders", 2, 1, config={"retention.ms": "5000"})])["orders"].result(SECONDS)
    wait_until(lambda: partitions(admin, "orders") == 2)
    assert setting(admin, "retention.ms") == "5000"
    admin.create_partitions([NewPartitions("orders", 3)])["orders"].result(SECONDS)
    wait_until(lambda: partitions(admin, "orders") == 3)
    changes = [
        ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE),
        ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND),
    ]
    resource = ConfigResource(ResourceType.TOPIC, "orders", incremental_configs=changes)
    admin.incremental_alter_configs([resource])[resource].result(SECONDS)
    wait_until(lambda: setting(admin, "cleanup.policy") == "delete,compact")
    assert setting(admin, "retention.ms") == "604800000"
    (told,) = admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition("orders", 0)]).result(SECONDS).values()
    assert told.name() == "ELECTION_NOT_NEEDED"
    admin.delete_topics(["orders"])["orders"].result(SECONDS)
    wait_until(lambda: partitions(admin, "orders") == 0)


def test_a_topic_that_a_client_writes_to_is_made(bootstrap: str, admin: AdminClient) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("wanted", b"first")
    assert producer.flush(SECONDS) == 0
    assert partitions(admin, "wanted") == 1


def test_groups_are_deleted(bootstrap: str, admin: AdminClient) -> None:
    admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(SECONDS)
    wait_until(lambda: partitions(admin, "orders") == 1)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers"})
    consumer.commit(offsets=[TopicPartition("orders", 0, 5)], asynchronous=False)
    consumer.close()
    assert admin.delete_consumer_groups(["readers"])["readers"].result(SECONDS) is None
    asked = ConsumerGroupTopicPartitions("readers", [TopicPartition("orders", 0)])
    told = admin.list_consumer_group_offsets([asked])["readers"].result(SECONDS)
    assert [each.offset for each in told.topic_partitions] == [OFFSET_INVALID]
