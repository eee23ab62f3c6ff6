"""What a cluster for tests does with settings: it keeps to them, or refuses them."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from replication.records.metadata.settings.topic_settings import SHARED_SETTINGS, TOPIC_SETTINGS
from replication.testing import Cluster, SimulatedCluster
from replication.testing.cluster_defaults import ClusterDefaults
from replication.testing.node_settings import NodeSettings
from replication.wire.addresses import Address
from replication.wire.client.connection import Connection
from replication.wire.errors import RequestTimedOutError
from tests.replication.cluster.broker.groups.test_beside_kafka import join

GIVEN = {
    "log.retention.ms": "12345",
    "segment.bytes": "2097152",
    "num.partitions": "3",
    "auto.create.topics.enable": "true",
    "log.cleaner.backoff.ms": "0",
    "group.initial.rebalance.delay.ms": "600000",
}
WRONG = [
    ({"foo": "bar"}, "foo: not a setting"),
    ({"num.partitions": "0"}, "num.partitions"),
    ({"auto.create.topics.enable": "maybe"}, "auto.create.topics.enable"),
    ({"group.initial.rebalance.delay.ms": "soon"}, "group.initial.rebalance.delay.ms"),
    ({"log.cleaner.backoff.ms": "-1"}, "log.cleaner.backoff.ms"),
    ({"retention.ms": "-2"}, "retention.ms"),
    ({"preallocate": "true"}, "preallocate: makes no difference"),
    ({"log.local.retention.ms": "5"}, "local.retention.ms: makes no difference"),
    ({"retention.ms": "5", "log.retention.ms": "6"}, "retention.ms and log.retention.ms are one setting"),
]


@pytest.fixture(scope="module", params=[False, True], ids=["threads", "processes"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(1, defaults=GIVEN, processes=request.param) as cluster:
        yield cluster


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_others_are_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Cluster(1, defaults=given)


def test_a_cluster_needs_a_broker() -> None:
    with pytest.raises(ValueError, match="needs a broker"):
        Cluster(0)


def test_a_simulated_cluster_refuses_what_its_controller_does_not_decide_by() -> None:
    with pytest.raises(ValueError, match=r"retention\.ms"):
        SimulatedCluster(1, defaults={"retention.ms": "5"})


def test_nodes_that_a_simulated_cluster_does_not_have_are_refused() -> None:
    with SimulatedCluster(1) as cluster:
        for change in (cluster.cut, cluster.mend):
            with pytest.raises(ValueError, match="2: no broker"):
                change(1, 2)


@pytest.mark.parametrize("name", sorted(TOPIC_SETTINGS))
def test_topics_settings_are_known_by_both_names(name: str) -> None:
    text = TOPIC_SETTINGS[name].default or ""
    assert ClusterDefaults.of({name: text}).topics == {name: text}
    assert ClusterDefaults.of({SHARED_SETTINGS.get(name, name): text}).topics == {name: text}


def test_a_topic_is_made_as_they_say_once_a_client_asks_for_it(cluster: Cluster) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce("made", b"value")
    assert producer.flush(30) == 0
    assert len(cluster.image.topics.by_name["made"].partitions) == 3


def test_a_new_group_waits_for_more_members_as_long_as_they_say(cluster: Cluster) -> None:
    with Connection.open(cluster.address(1)) as connection:
        connection.send(join("readers", "", "range"))
        with pytest.raises(RequestTimedOutError):
            connection.receive(200)


def test_where_they_say_nothing_groups_wait_for_nobody_and_the_cleaner_rests_for_a_second() -> None:
    settings = NodeSettings(lag_ms=1_000, heartbeat_ms=250, **ClusterDefaults.of({}).nodes)
    assert settings.of_node(Address("127.0.0.1", 0)).groups.initial_rebalance_delay == 0
    assert settings.of_directories.log_cleaner_backoff_ms == 1_000


def test_brokers_keep_logs_by_them() -> None:
    with Cluster(1, defaults=GIVEN) as cluster:
        cluster.create_topic("orders")
        config = cluster.log(1, "orders").config
        assert (config.retention_ms, config.segment_bytes) == (12_345, 2_097_152)
        assert [root.settings.log_cleaner_backoff_ms for root in cluster.broker(1).directories.roots] == [0]
