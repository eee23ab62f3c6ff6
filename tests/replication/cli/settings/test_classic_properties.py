"""The file of a controller of the ZooKeeper era: what it means, and all that is wrong with one."""

from pathlib import Path

import pytest

from replication.cli.settings.classic_properties import ClassicProperties
from replication.cluster.classic.classic_node import ClassicNodeSettings
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.wire.addresses import Address
from replication.wire.errors import InvalidSettingsError

LEAST = {"broker.id": "1000", "zookeeper.connect": "zk:2181/kafka", "listeners": "PLAINTEXT://here:9090"}


def test_the_least_that_is_needed_has_kafkas_defaults() -> None:
    properties = ClassicProperties.of(LEAST)
    assert properties.passed_over == ()
    assert properties.node == ClassicNodeSettings(
        broker_id=1000,
        zookeeper="zk:2181/kafka",
        session_seconds=18.0,
        connect_seconds=18.0,
        listen=Address("here", 9090),
        listener="PLAINTEXT",
        advertised=Address("here", 9090),
        controller=ClassicSettings(
            topic_ids=True,
            delete_topic_enable=True,
            auto_leader_rebalance_enable=True,
            leader_imbalance_check_interval_ms=300_000,
            leader_imbalance_per_broker_percentage=10,
            num_partitions=1,
            default_replication_factor=1,
            defaults={"unclean.leader.election.enable": "false"},
        ),
        to_brokers=properties.node.to_brokers,
    )


def test_each_setting_reaches_what_it_sets() -> None:
    properties = ClassicProperties.of(
        {
            **LEAST,
            "listeners": "INSIDE://:9090",
            "advertised.listeners": "INSIDE://there:9191",
            "listener.security.protocol.map": "INSIDE:PLAINTEXT",
            "inter.broker.listener.name": "inside",
            "zookeeper.session.timeout.ms": "6000",
            "zookeeper.connection.timeout.ms": "7000",
            "delete.topic.enable": "False",
            "auto.leader.rebalance.enable": "false",
            "unclean.leader.election.enable": "true",
            "leader.imbalance.check.interval.seconds": "30",
            "leader.imbalance.per.broker.percentage": "0",
            "num.partitions": "3",
            "default.replication.factor": "2",
            "inter.broker.protocol.version": "2.8",
            "log.dirs": "/nowhere",
        },
        "other:2181",
    )
    node, controller = properties.node, properties.node.controller
    assert (node.zookeeper, node.session_seconds, node.connect_seconds) == ("other:2181", 6.0, 7.0)
    assert (node.listen, node.listener, node.advertised) == (Address("", 9090), "INSIDE", Address("there", 9191))
    assert (controller.delete_topic_enable, controller.auto_leader_rebalance_enable) == (False, False)
    assert controller.defaults == {"unclean.leader.election.enable": "true"}
    assert controller.leader_imbalance_check_interval_ms == 30_000
    assert controller.leader_imbalance_per_broker_percentage == 0
    assert (controller.num_partitions, controller.default_replication_factor) == (3, 2)
    assert properties.passed_over == ("log.dirs",)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"broker.id": None}, "broker.id is missing"),
        ({"broker.id": "-1"}, "broker.id is -1, and must be at least 0"),
        ({"broker.id": "one"}, "broker.id is 'one', and must be a whole number"),
        ({"zookeeper.connect": None}, "zookeeper.connect is missing"),
        ({"zookeeper.session.timeout.ms": "10"}, "zookeeper.session.timeout.ms is 10, and must be at least 1000"),
        ({"delete.topic.enable": "maybe"}, "delete.topic.enable is 'maybe', and must be true or false"),
        (
            {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"},
            "authorizer.class.name is not supported",
        ),
        ({"control.plane.listener.name": "CONTROL"}, "control.plane.listener.name is not supported"),
        ({"process.roles": "controller"}, "process.roles is not supported"),
        ({"zookeeper.ssl.client.enable": "true"}, "zookeeper.ssl.client.enable is not supported"),
        ({"zookeeper.set.acl": "true"}, "zookeeper.set.acl is not supported"),
        ({"listeners": "SSL://here:9090", "inter.broker.listener.name": "SSL"}, "neither TLS nor SASL is supported"),
        ({"listeners": "PLAINTEXT://here:9090,OTHER://here:9091"}, "listeners must have PLAINTEXT alone"),
        ({"inter.broker.protocol.version": "2.7-IV2"}, "inter.broker.protocol.version is '2.7-IV2'"),
        ({"inter.broker.protocol.version": "new"}, "inter.broker.protocol.version is 'new'"),
        ({"listeners": "here:9090"}, "listeners has 'here:9090'"),
    ],
)
def test_what_is_wrong(changes: dict[str, str | None], told: str) -> None:
    properties = {name: value for name, value in {**LEAST, **changes}.items() if value is not None}
    with pytest.raises(InvalidSettingsError) as refused:
        ClassicProperties.of(properties)
    assert told in str(refused.value)


def test_what_is_false_is_not_refused() -> None:
    assert ClassicProperties.of({**LEAST, "zookeeper.set.acl": "false", "authorizer.class.name": ""}).passed_over == (
        "authorizer.class.name",
        "zookeeper.set.acl",
    )


def test_a_file_is_named_where_it_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "controller.properties"
    file.write_text("listeners=PLAINTEXT://here:9090\n")
    with pytest.raises(
        InvalidSettingsError, match=r"controller\.properties: broker\.id is missing.*zookeeper\.connect"
    ):
        ClassicProperties.read(file)
