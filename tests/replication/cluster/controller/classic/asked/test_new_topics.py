"""Topics that a controller of the ZooKeeper era is asked for: as Kafka writes them, led before the answer comes."""

import json

import pytest

from replication.cluster.controller.classic.commands.commands import StopReplicaRequest
from replication.cluster.controller.classic.settings import ClassicSettings
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.topics.topics import MorePartitions, NewTopic, TopicAnswer
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.controller.classic.cluster import ClassicCluster, named


@pytest.fixture
def cluster() -> ClassicCluster:
    cluster = ClassicCluster(settings=ClassicSettings(num_partitions=4, default_replication_factor=2))
    cluster.begin()
    return cluster


def create(cluster: ClassicCluster, *topics: NewTopic, validate_only: bool = False) -> list[TopicAnswer]:
    return cluster.controller.decide(lambda term: term.create_topics(topics, validate_only=validate_only))


def test_a_topic_is_spread_over_the_brokers_and_led_at_once(cluster: ClassicCluster) -> None:
    (answer,) = create(cluster, NewTopic("t", configs={"retention.ms": "1000"}))
    assert answer[:3] == ("t", ErrorCode.NONE, None)
    assert (answer.partitions, answer.replication_factor) == (4, 2)
    for number in range(4):
        replicas = cluster.assignment(named(f"t-{number}")).replicas
        assert len({*replicas}) == 2
        assert {*replicas} <= {1, 2, 3}
        assert cluster.state(named(f"t-{number}")).isr == replicas
    fields = json.loads(cluster.admin.get(nodes.topic_path("t")).data)
    assert (fields["version"], fields["adding_replicas"], fields["removing_replicas"]) == (3, {}, {})
    assert nodes.decode_topic_id("t", json.dumps(fields).encode()) == answer.topic_id is not None
    assert nodes.decode_config("t", cluster.admin.get(f"{nodes.TOPIC_CONFIGS}/t").data) == {"retention.ms": "1000"}


def test_a_broker_that_shuts_down_gets_no_replicas(cluster: ClassicCluster) -> None:
    cluster.controller.controlled_shutdown(3, cluster.context.broker_epochs[3])
    create(cluster, NewTopic("t", 20, 2))
    assert {each for number in range(20) for each in cluster.assignment(named(f"t-{number}")).replicas} == {1, 2}


def test_brokers_are_told_of_its_id(cluster: ClassicCluster) -> None:
    (answer,) = create(cluster, NewTopic("t", assignments={0: (3, 1)}))
    cluster.settle()
    (*_, (_, told)) = cluster.told_metadata()
    assert told.topic_ids == {"t": answer.topic_id}
    assert told.replicas == {named("t-0"): (3, 1)}


def test_a_topic_that_is_only_validated_is_not_there(cluster: ClassicCluster) -> None:
    (answer,) = create(cluster, NewTopic("t"), validate_only=True)
    assert answer == TopicAnswer("t", partitions=4, replication_factor=2)
    assert not cluster.admin.exists(nodes.topic_path("t"))


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("old.topic"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (NewTopic("old_topic"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("with/slash"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t", partitions=0), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("t", replication_factor=4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", configs={"retention.ms": "soon"}), ErrorCode.INVALID_CONFIG),
        (NewTopic("t", assignments={0: (1, 1)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments={0: (1, 9)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments={0: (1, 2), 1: (3,)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments={1: (1, 2)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", partitions=1, assignments={0: (1,)}), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_not_created(cluster: ClassicCluster, topic: NewTopic, error: ErrorCode) -> None:
    create(cluster, NewTopic("old.topic"))
    assert [each.error for each in create(cluster, topic)] == [error]
    assert cluster.admin.children(nodes.TOPICS) == ["old.topic"]


def test_a_topic_that_is_named_twice_is_created_in_neither_way(cluster: ClassicCluster) -> None:
    answers = create(cluster, NewTopic("t"), NewTopic("u"), NewTopic("t", partitions=1))
    assert {each.topic: each.error for each in answers} == {"t": ErrorCode.INVALID_REQUEST, "u": ErrorCode.NONE}


def test_the_settings_of_an_earlier_topic_are_replaced(cluster: ClassicCluster) -> None:
    cluster.admin.create(f"{nodes.TOPIC_CONFIGS}/t", nodes.encode_config({"retention.ms": "1"}))
    create(cluster, NewTopic("t"))
    assert nodes.decode_config("t", cluster.admin.get(f"{nodes.TOPIC_CONFIGS}/t").data) == {}


def test_topics_are_deleted_unless_that_is_disabled() -> None:
    for enabled, error in ((True, ErrorCode.NONE), (False, ErrorCode.TOPIC_DELETION_DISABLED)):
        cluster = ClassicCluster(settings=ClassicSettings(delete_topic_enable=enabled))
        cluster.begin()
        (created,) = create(cluster, NewTopic("t"))
        (answer,) = cluster.controller.decide(lambda term: term.delete_topics(["t"]))
        cluster.settle()
        told_to_stop = [told for _, told in cluster.sent if isinstance(told, StopReplicaRequest)]
        stops = [each for told in told_to_stop for each in told.partitions.values()]
        assert {each.leader_epoch for each in stops} == ({-2} if enabled else set())
        assert answer == TopicAnswer("t", error, topic_id=created.topic_id if enabled else None)
        assert cluster.admin.exists(nodes.topic_path("t")) is not enabled
        (missing,) = cluster.controller.decide(lambda term: term.delete_topics(["nothing"]))
        assert missing.error is (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if enabled else error)


def test_producer_ids_are_given_once(cluster: ClassicCluster) -> None:
    epoch = cluster.context.broker_epochs[2]
    firsts = [cluster.controller.decide(lambda term: term.allocate_producer_ids(2, epoch)) for _ in range(3)]
    assert firsts == [0, 1_000, 2_000]
    assert json.loads(cluster.admin.get(nodes.PRODUCER_IDS).data) == {
        "version": 1,
        "broker": 2,
        "block_start": "2000",
        "block_end": "2999",
    }


def enlarge(cluster: ClassicCluster, *more: object, validate_only: bool = False) -> TopicAnswer:
    wanted = MorePartitions("t", *more)  # type: ignore[arg-type]  # a count, and replicas where they matter
    return cluster.controller.decide(lambda term: term.add_partitions(wanted, validate_only=validate_only))


def test_partitions_are_added_and_led_at_once(cluster: ClassicCluster) -> None:
    (created,) = create(cluster, NewTopic("t", assignments={0: (1, 2)}))
    assert enlarge(cluster, 3, validate_only=True) == TopicAnswer("t")
    assert cluster.context.partitions_of(["t"]) == [named("t-0")]
    assert enlarge(cluster, 2, [(3, 1)]) == TopicAnswer("t")
    assert cluster.state(named("t-1"))[:2] == (3, (3, 1))
    assert enlarge(cluster, 4) == TopicAnswer("t")
    assert all(len({*cluster.assignment(named(f"t-{number}")).replicas}) == 2 for number in range(4))
    data = cluster.admin.get(nodes.topic_path("t")).data
    assert nodes.decode_topic_id("t", data) == created.topic_id


def test_partitions_that_are_not_added(cluster: ClassicCluster) -> None:
    assert enlarge(cluster, 2).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    create(cluster, NewTopic("t", assignments={0: (1, 2)}))
    assert enlarge(cluster, 1).error is ErrorCode.INVALID_PARTITIONS
    for replicas in ([(1, 2), (2, 3)], [(1,)], [(1, 1)], [(1, 9)]):
        assert enlarge(cluster, 2, replicas).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    cluster.context.reassigning.add(named("t-0"))
    assert enlarge(cluster, 2).error is ErrorCode.REASSIGNMENT_IN_PROGRESS
    assert cluster.context.partitions_of(["t"]) == [named("t-0")]


def test_topics_without_an_id_are_given_one_where_brokers_know_of_ids() -> None:
    for wanted in (True, False):
        cluster = ClassicCluster(settings=ClassicSettings(topic_ids=wanted))
        cluster.write_topic("old", {0: [1, 2]})
        cluster.begin()
        cluster.topic("new", [2, 3])
        for topic in ("old", "new"):
            data = cluster.admin.get(nodes.topic_path(topic)).data
            topic_id = nodes.decode_topic_id(topic, data)
            assert (topic_id is not None) is wanted
            assert cluster.context.topic_ids.get(topic) == topic_id
            assert json.loads(data)["version"] == (3 if wanted else 2)
        assert cluster.state(named("old-0")).leader == 1
