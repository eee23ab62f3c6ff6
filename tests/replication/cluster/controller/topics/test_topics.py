from typing import Any, NoReturn
from uuid import UUID

import pytest

from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.controller.partition_index import PartitionIndex
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topic_names import TopicNames
from replication.cluster.controller.topics.topics import MorePartitions, NewTopic, TopicAnswer
from replication.records.metadata.errors import InvalidReplayError
from replication.records.metadata.records import ClearElrRecord, ConfigRecord, PartitionRecord, TopicRecord
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.controller.small_cluster import SmallCluster, directory


def create(cluster: SmallCluster, *topics: NewTopic) -> list[TopicAnswer]:
    return cluster.done(cluster.controller.create_topics(topics))


def refused(cluster: SmallCluster, topic: NewTopic) -> tuple[str, str | None]:
    (answer,) = create(cluster, topic)
    return answer.error.name, answer.message


def enlarge(cluster: SmallCluster, name: str, count: int, *assignments: tuple[int, ...]) -> TopicAnswer:
    request = MorePartitions(name, count, assignments or None)
    return cluster.done(cluster.controller.add_partitions([request]))[0]


def test_a_topic_s_settings_stand_between_it_and_its_partitions() -> None:
    cluster = SmallCluster()
    topic = NewTopic("a", 2, 3, configs={"min.insync.replicas": "2", "retention.ms": "5"})
    records = cluster.controller.create_topics([topic]).records
    assert [type(record) for record in records] == [
        TopicRecord,
        *[ConfigRecord] * 2,
        *[PartitionRecord] * 2,
    ]


def test_a_partition_starts_with_those_in_sync_that_live_and_knows_their_directories() -> None:
    cluster = SmallCluster(4)
    cluster.fence(2)
    cluster.heartbeat(3, want_shut_down=True)
    cluster.topic("a", (2, 4, 1))
    state = cluster.partition("a")
    assert (state.isr, state.leader, state.leader_epoch) == ((4, 1), 4, 0)
    assert state.directories == (directory(2), directory(4), directory(1))


def test_counts_that_are_not_given_are_the_controller_s() -> None:
    cluster = SmallCluster(settings=ControllerSettings(num_partitions=4, default_replication_factor=2))
    create(cluster, NewTopic("a"))
    topic = cluster.controller.cluster.topic_named("a")
    assert topic is not None
    assert [len(state.replicas) for state in topic.partitions.values()] == [2] * 4


@pytest.mark.parametrize(
    ("topic", "code", "message"),
    [
        (NewTopic(""), "INVALID_TOPIC_EXCEPTION", "empty string"),
        (NewTopic(".."), "INVALID_TOPIC_EXCEPTION", "not allowed"),
        (NewTopic("x" * 250), "INVALID_TOPIC_EXCEPTION", "max allowed length 249"),
        (NewTopic("a/b"), "INVALID_TOPIC_EXCEPTION", "ASCII alphanumerics"),
        (NewTopic("known"), "TOPIC_ALREADY_EXISTS", "Topic 'known' already exists."),
        (NewTopic("has_dots"), "INVALID_TOPIC_EXCEPTION", "collides with existing topic: has.dots"),
        (NewTopic("a", 0), "INVALID_PARTITIONS", "invalid non-positive value"),
        (NewTopic("a", 1, 0), "INVALID_REPLICATION_FACTOR", "must be larger than 0"),
        (
            NewTopic("a", 1, 4),
            "INVALID_REPLICATION_FACTOR",
            "3 broker(s) are registered or some brokers have all their log directories cordoned.",
        ),
        (NewTopic("a", configs={"x": None}), "INVALID_CONFIG", "Null value not supported for topic configs: x"),
        (NewTopic("a", configs={"min.insync.replicas": "0"}), "INVALID_CONFIG", "min.insync.replicas"),
        (NewTopic("a", configs={"min.insync.replicas": ""}), "INVALID_CONFIG", "min.insync.replicas"),
        (NewTopic("a", configs={"unclean.leader.election.enable": "yes"}), "INVALID_CONFIG", "true or false"),
        (NewTopic("a", configs={"unclean.leader.election.enable": ""}), "INVALID_CONFIG", "true or false"),
        (NewTopic("a", 1, assignments={0: (1,)}), "INVALID_REQUEST", "numPartitions was not set to -1."),
        (NewTopic("a", -1, 1, assignments={0: (1,)}), "INVALID_REQUEST", "replication factor was not set to -1."),
        (NewTopic("a", assignments={0: ()}), "INVALID_REPLICA_ASSIGNMENT", "an empty replica list."),
        (NewTopic("a", assignments={0: (1, 1)}), "INVALID_REPLICA_ASSIGNMENT", "broker 1 more than once."),
        (NewTopic("a", assignments={0: (9,)}), "INVALID_REPLICA_ASSIGNMENT", "no such broker is registered."),
        (NewTopic("a", assignments={0: (1,), 1: (1, 2)}), "INVALID_REPLICA_ASSIGNMENT", "which have 1 replica(s)."),
        (NewTopic("a", assignments={1: (1,)}), "INVALID_REPLICA_ASSIGNMENT", "consecutive 0-based"),
    ],
)
def test_what_cannot_be_made_is_refused_with_a_reason(topic: NewTopic, code: str, message: str) -> None:
    cluster = SmallCluster()
    cluster.topic("known", (1,))
    cluster.topic("has.dots", (1,))
    told, reason = refused(cluster, topic)
    assert told == code
    assert reason is not None
    assert message in reason


def test_where_nobody_lives_nothing_is_made() -> None:
    cluster = SmallCluster(1)
    cluster.topic("a", (1,))
    cluster.fence(1)
    all_fenced = "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or have all their "
    all_fenced += "log directories cordoned."
    assert refused(cluster, NewTopic("b", 1, 1)) == ("INVALID_REPLICATION_FACTOR", all_fenced)
    assert refused(cluster, NewTopic("b", assignments={0: (1,)}))[0] == "INVALID_REPLICA_ASSIGNMENT"
    assert enlarge(cluster, "a", 2).error is ErrorCode.INVALID_REPLICATION_FACTOR
    assert enlarge(cluster, "a", 2, (1,)).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_one_topic_s_fault_does_not_keep_another_from_being_made() -> None:
    cluster = SmallCluster()
    answers = create(cluster, NewTopic("a", 1, 1), NewTopic("b", 0), NewTopic("twice"), NewTopic("twice"))
    assert [(answer.topic, answer.error) for answer in answers] == [
        ("a", ErrorCode.NONE),
        ("b", ErrorCode.INVALID_PARTITIONS),
        ("twice", ErrorCode.INVALID_REQUEST),
    ]
    assert set(cluster.controller.cluster.image.topics.by_name) == {"a"}


def test_what_is_only_validated_is_not_made() -> None:
    cluster = SmallCluster()
    decision = cluster.controller.create_topics([NewTopic("a", 1, 1)], validate_only=True)
    assert decision.records == []
    assert decision.answer[0].error is ErrorCode.NONE


def test_too_many_partitions_at_once_are_refused_altogether() -> None:
    with pytest.raises(Refusal, match="POLICY_VIOLATION"):
        create(SmallCluster(), NewTopic("a", 5000, 1), NewTopic("b", 5001, 1))
    cluster = SmallCluster()
    cluster.topic("c", (1,))
    cluster.topic("d", (1,))
    with pytest.raises(Refusal, match=r"POLICY_VIOLATION: .*large number of additional partitions"):
        enlarge(cluster, "c", 10_002)
    with pytest.raises(Refusal, match="POLICY_VIOLATION"):
        cluster.controller.add_partitions([MorePartitions("c", 5_001), MorePartitions("d", 5_002)])
    halves = [MorePartitions("c", 5_001), MorePartitions("d", 5_001), MorePartitions("unknown", 9_999)]
    assert [each.error.name for each in cluster.controller.add_partitions(halves).answer] == [
        "NONE",
        "NONE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]


def test_a_cordoned_directory_gets_no_replica() -> None:
    cluster = SmallCluster(2)
    cluster.heartbeat(1, cordoned_log_dirs=(directory(1),))
    create(cluster, NewTopic("a", 5, 1))
    topic = cluster.controller.cluster.topic_named("a")
    assert topic is not None
    assert {state.leader for state in topic.partitions.values()} == {2}
    assert refused(cluster, NewTopic("b", 1, 2))[0] == "INVALID_REPLICATION_FACTOR"
    told, reason = refused(cluster, NewTopic("c", assignments={0: (2, 1)}))
    assert told == "INVALID_REPLICA_ASSIGNMENT"
    assert reason == "The manual partition assignment includes broker 1, but all its log directories are cordoned."
    assert enlarge(cluster, "a", 6, (1,)).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_broker_that_shuts_down_gets_no_replica_by_chance() -> None:
    cluster = SmallCluster(2)
    cluster.topic("a", (1, 2))
    assert cluster.heartbeat(1, want_shut_down=True).in_controlled_shutdown
    assert refused(cluster, NewTopic("b", 1, 2))[0] == "INVALID_REPLICATION_FACTOR"


def test_partitions_are_added_at_the_end_with_as_many_replicas() -> None:
    cluster = SmallCluster()
    cluster.topic("a", (1, 2))
    assert enlarge(cluster, "a", 3).error is ErrorCode.NONE
    assert enlarge(cluster, "a", 4, (3, 1)).error is ErrorCode.NONE
    assert [len(cluster.partition("a", number).replicas) for number in range(4)] == [2] * 4
    assert cluster.partition("a", 3).replicas == (3, 1)


def test_partitions_that_cannot_be_added_are_refused_with_a_reason() -> None:
    cluster = SmallCluster()
    cluster.topic("a", (1, 2))
    assert enlarge(cluster, "b", 2).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert enlarge(cluster, "a", 1).message == "Topic already has 1 partition(s)."
    assert enlarge(cluster, "a", 0).message == ("The topic a currently has 1 partition(s); 0 would not be an increase.")
    assert enlarge(cluster, "a", 3, (1, 2)).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert enlarge(cluster, "a", 2, (1,)).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_topic_is_deleted_by_name_or_id_with_its_settings() -> None:
    cluster = SmallCluster()
    cluster.topic("a", (1, 2), min_insync_replicas="2")
    cluster.topic("b", (1, 2))
    topic_id = cluster.key("a").topic_id
    answers = cluster.done(cluster.controller.delete_topics([topic_id, "b", "c", UUID(int=5)]))
    assert [answer.error for answer in answers] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]
    assert len(cluster.controller.cluster.image.topics) == 0
    assert not cluster.controller.cluster.index.leads(1)
    assert cluster.controller.cluster.image.configurations.by_resource == {}


# What it costs


class NotWalked(dict[str, Any]):
    """Topics that may be looked up, but not looked through."""

    def __iter__(self) -> NoReturn:
        raise AssertionError("all topics are looked through")

    keys = values = items = __iter__  # type: ignore[assignment]


@pytest.mark.parametrize("separator", ["_", "."])
def test_a_name_is_not_compared_with_all_others(separator: str) -> None:
    cluster = SmallCluster()
    create(cluster, *(NewTopic(f"a{separator}{number}", 1, 1) for number in range(20)))
    topics = cluster.controller.cluster.image.topics
    topics.by_name = NotWalked(topics.by_name)
    other = "." if separator == "_" else "_"
    collides = f"Topic 'a{other}7' collides with existing topic: a{separator}7"
    assert refused(cluster, NewTopic(f"a{other}7", 1, 1)) == ("INVALID_TOPIC_EXCEPTION", collides)
    assert create(cluster, NewTopic(f"a{other}20", 1, 1))[0].error is ErrorCode.NONE


def test_a_name_is_free_again_once_the_similar_topic_is_deleted() -> None:
    cluster = SmallCluster()
    cluster.topic("a.b", (1,))
    assert refused(cluster, NewTopic("a_b", 1, 1))[0] == "INVALID_TOPIC_EXCEPTION"
    cluster.done(cluster.controller.delete_topics(["a.b"]))
    assert create(cluster, NewTopic("a_b", 1, 1))[0].error is ErrorCode.NONE
    assert refused(cluster, NewTopic("a.b", 1, 1))[0] == "INVALID_TOPIC_EXCEPTION"


def test_names_known_from_replay_are_those_of_the_topics() -> None:
    cluster = SmallCluster()
    create(cluster, NewTopic("a.b", 1, 1), NewTopic("a_b", 1, 1), NewTopic("c", 1, 1), NewTopic("c.d", 1, 1))
    cluster.done(cluster.controller.delete_topics(["a.b", "c"]))
    expected = TopicNames()
    for name in cluster.controller.cluster.image.topics.by_name:
        expected.add(name)
    assert cluster.controller.cluster.topic_names == expected


def updates(cluster: SmallCluster, topics: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Count how often the state of a partition is taken up while topics are made that have a setting for the ELR."""
    update = PartitionIndex.update
    calls = 0

    def counted(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        update(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(PartitionIndex, "update", counted)
        made = [NewTopic(f"t{number}", 2, 3, configs={"min.insync.replicas": "2"}) for number in range(topics)]
        assert {answer.error for answer in create(cluster, *made)} == {ErrorCode.NONE}
    return calls


def test_to_forget_the_elr_of_one_topic_costs_no_look_at_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert updates(SmallCluster(elr=True), 10, monkeypatch) == 20
    assert updates(SmallCluster(elr=True), 40, monkeypatch) == 80


def test_the_elr_of_one_topic_or_of_all_is_forgotten() -> None:
    cluster = SmallCluster(elr=True)
    for name in ("a", "b", "c"):
        cluster.topic(name, (1, 2, 3), min_insync_replicas="3")
        cluster.set_isr(name, 1)
    assert set(cluster.controller.cluster.index.in_elr(2)) == {cluster.key(name) for name in "abc"}
    cluster.controller.replay([ClearElrRecord(topic_name="b")])
    assert set(cluster.controller.cluster.index.in_elr(2)) == {cluster.key("a"), cluster.key("c")}
    assert cluster.partition("b").elr == ()
    cluster.controller.replay([ClearElrRecord(topic_name="")])
    assert cluster.controller.cluster.index.in_elr(2) == []
    with pytest.raises(InvalidReplayError, match="there is no topic nobody"):
        cluster.controller.replay([ClearElrRecord(topic_name="nobody")])


# Numbers


@pytest.mark.parametrize("value", ["9" * 5_000, "-" + "9" * 5_000, "99999999999", "2²", "1.0", "0x2", "nonsense"])
def test_a_number_that_is_none_is_refused(value: str) -> None:
    told, message = refused(SmallCluster(), NewTopic("a", 1, 1, configs={"min.insync.replicas": value}))
    assert told == "INVALID_CONFIG"
    assert message is not None
    assert len(message) < 150


@pytest.mark.parametrize("value", ["+2", " 2\t", "0" * 5_000 + "2", "\uff12"])
def test_a_number_is_read_as_java_reads_it(value: str) -> None:
    cluster = SmallCluster(elr=True)
    (answer,) = create(cluster, NewTopic("a", 1, 3, configs={"min.insync.replicas": value}))
    assert answer.error is ErrorCode.NONE
    topic = cluster.controller.cluster.topic_named("a")
    assert topic is not None
    assert cluster.controller.cluster.min_isr(topic) == 2


@pytest.mark.parametrize("value", ["9" * 5_000, "", "none", "-1", "99999999999"])
def test_a_setting_in_the_log_that_cannot_be_read_does_not_keep_the_controller_from_deciding(value: str) -> None:
    settings = ControllerSettings(defaults={"min.insync.replicas": "2"})
    cluster = SmallCluster(elr=True, settings=settings)
    cluster.topic("a", (1, 2, 3))
    cluster.configure("a", "min.insync.replicas", value)
    topic = cluster.controller.cluster.topic_named("a")
    assert topic is not None
    assert cluster.controller.cluster.min_isr(topic) == 2, "the controller's own"
    cluster.fence(1)
    cluster.fence(2)
    assert cluster.partition("a").elr == (2,)
