"""Settings change as a whole or not at all, and only to what a topic or a broker can have."""

from typing import Any

import pytest

from replication.cluster.controller.controller import Controller
from replication.cluster.controller.settings.setting_changes import Operation, SettingChange, SettingsAnswer
from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.records import ClearElrRecord, ConfigRecord
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.controller.small_cluster import SmallCluster

A = ConfigResource(ConfigResourceType.TOPIC, "a")
BROKER = ConfigResource(ConfigResourceType.BROKER, "1")
ALL_BROKERS = ConfigResource(ConfigResourceType.BROKER, "")
SET, DELETE, APPEND, SUBTRACT = Operation
MIN_ISR = "min.insync.replicas"


@pytest.fixture
def cluster() -> SmallCluster:
    cluster = SmallCluster(elr=True)
    cluster.topic("a", (1, 2, 3), retention_ms="5")
    return cluster


def change(cluster: SmallCluster, resource: ConfigResource, *changes: tuple[Any, ...]) -> SettingsAnswer:
    (answer,) = cluster.done(
        cluster.controller.change_settings([(resource, [SettingChange(*each) for each in changes])])
    )
    assert answer.resource == resource
    return answer


def settings(cluster: SmallCluster, resource: ConfigResource = A) -> dict[str, str]:
    return dict(cluster.controller.cluster.image.configurations.of(*resource))


def test_what_is_set_is_there_until_it_is_deleted(cluster: SmallCluster) -> None:
    assert change(cluster, A, ("retention.ms", SET, "7"), ("segment.ms", SET, "8")).error is ErrorCode.NONE
    assert settings(cluster) == {"retention.ms": "7", "segment.ms": "8"}
    change(cluster, A, ("retention.ms", DELETE))
    assert settings(cluster) == {"segment.ms": "8"}


def test_one_wrong_change_undoes_the_others_of_its_resource_and_no_other_s(cluster: SmallCluster) -> None:
    cluster.topic("b", (1,))
    answers = cluster.done(
        cluster.controller.change_settings(
            [
                (A, [SettingChange("retention.ms", SET, "9"), SettingChange("segment.ms", SET, "x")]),
                (A._replace(name="b"), [SettingChange("retention.ms", SET, "9")]),
            ]
        )
    )
    assert [each.error for each in answers] == [ErrorCode.INVALID_CONFIG, ErrorCode.NONE]
    assert settings(cluster) == {"retention.ms": "5"}
    assert settings(cluster, A._replace(name="b")) == {"retention.ms": "9"}


def test_what_is_not_changed_is_not_written(cluster: SmallCluster) -> None:
    for given in (SettingChange("retention.ms", SET, "5"), SettingChange("segment.ms", DELETE)):
        assert cluster.controller.change_settings([(A, [given])]).records == []


def test_what_is_only_validated_is_not_written(cluster: SmallCluster) -> None:
    good, bad = SettingChange("retention.ms", SET, "7"), SettingChange("retention.ms", SET, "x")
    for given, error in ((good, ErrorCode.NONE), (bad, ErrorCode.INVALID_CONFIG)):
        decision = cluster.controller.change_settings([(A, [given])], validate_only=True)
        assert ([each.error for each in decision.answer], decision.records) == ([error], [])


def test_parts_of_a_list_come_and_go(cluster: SmallCluster) -> None:
    name = "cleanup.policy"
    change(cluster, A, (name, APPEND, "compact,delete"))
    assert settings(cluster)[name] == "delete,compact"
    change(cluster, A, (name, APPEND, "compact"))
    assert settings(cluster)[name] == "delete,compact"
    change(cluster, A, (name, SUBTRACT, "delete"))
    assert settings(cluster)[name] == "compact"
    change(cluster, A, (name, SUBTRACT, "compact"))
    assert settings(cluster)[name] == ""
    change(cluster, BROKER, ("log.cleanup.policy", APPEND, "compact"))
    assert settings(cluster, BROKER) == {"log.cleanup.policy": "delete,compact"}


def test_what_replaces_settings_deletes_the_others(cluster: SmallCluster) -> None:
    change(cluster, A, (MIN_ISR, SET, "2"))
    decision = cluster.controller.replace_settings([(A, [SettingChange("segment.ms", SET, "8")])])
    assert {type(record) for record in decision.records} == {ConfigRecord, ClearElrRecord}
    cluster.done(decision)
    assert settings(cluster) == {"segment.ms": "8"}
    cluster.done(cluster.controller.replace_settings([(A, [])]))
    assert settings(cluster) == {}


# Eligible leaders


@pytest.mark.parametrize(
    ("resource", "before", "cleared"), [(A, "1", "a"), (ALL_BROKERS, "1", ""), (A, "2", None), (ALL_BROKERS, "2", None)]
)
def test_nobody_is_eligible_after_another_number_of_replicas_must_be_in_sync(
    cluster: SmallCluster, resource: ConfigResource, before: str, cleared: str | None
) -> None:
    change(cluster, resource, (MIN_ISR, SET, before))
    decision = cluster.controller.change_settings([(resource, [SettingChange(MIN_ISR, SET, "2")])])
    names = [record.topic_name for record in decision.records if isinstance(record, ClearElrRecord)]
    assert names == ([] if cleared is None else [cleared])


def test_the_eligible_are_forgotten_with_it(cluster: SmallCluster) -> None:
    change(cluster, A, (MIN_ISR, SET, "3"))
    cluster.set_isr("a", 1)
    assert cluster.partition("a").elr == (2, 3)
    change(cluster, A, (MIN_ISR, SET, "2"))
    assert cluster.partition("a").elr == ()


def test_without_elr_there_is_nobody_to_forget() -> None:
    cluster = SmallCluster()
    cluster.topic("a", (1, 2, 3))
    for resource in (A, BROKER, ALL_BROKERS):
        for given in (SettingChange(MIN_ISR, SET, "2"), SettingChange(MIN_ISR, DELETE)):
            decision = cluster.controller.change_settings([(resource, [given])])
            assert decision.answer == [SettingsAnswer(resource)]
            assert not any(isinstance(record, ClearElrRecord) for record in decision.records)
            cluster.done(decision)


# Refusals

REFUSED = [
    (A, [("retention.ms", SET, "x")], "INVALID_CONFIG", "Not a number of type LONG"),
    (A, [("retention.ms", SET, "-2")], "INVALID_CONFIG", "at least -1"),
    (A, [("no.such", SET, "1")], "INVALID_CONFIG", "Unknown topic config name: no.such"),
    (A, [("retention.ms", APPEND, "1")], "INVALID_CONFIG", "Can't APPEND to key retention.ms"),
    (A, [("retention.ms", SUBTRACT, "1")], "INVALID_CONFIG", "Can't SUBTRACT to key retention.ms"),
    (A, [("cleanup.policy", APPEND, "none")], "INVALID_CONFIG", "one of: compact, delete"),
    (A, [("cleanup.policy", SET, "c" * 32_768)], "INVALID_CONFIG", "maximum value size of 32767"),
    (A, [("max.compaction.lag.ms", SET, "4"), ("min.compaction.lag.ms", SET, "5")], "INVALID_CONFIG", "(5) > "),
    (A, [("retention.ms", SET, None)], "INVALID_REQUEST", "Null value not supported for : retention.ms"),
    (A, [("retention.ms", SET, "1"), ("retention.ms", DELETE)], "INVALID_REQUEST", "duplicate config keys"),
    (A, [("retention.ms", 4, "1")], "INVALID_REQUEST", "Unknown operation 4 on retention.ms"),
    (A._replace(name=""), [], "INVALID_REQUEST", "Default topic resources"),
    (A._replace(name="a b"), [], "INVALID_TOPIC_EXCEPTION", "ASCII alphanumerics"),
    (A._replace(name="b"), [], "UNKNOWN_TOPIC_OR_PARTITION", "The topic 'b' does not exist."),
    (BROKER, [("log.segment.bytes", SET, "x")], "INVALID_REQUEST", "Not a number of type INT"),
    (BROKER, [("num.io.threads", SET, "0")], "INVALID_REQUEST", "at least 1"),
    (BROKER, [("log.segment.bytes", APPEND, "5")], "INVALID_CONFIG", "append is not allowed for config key"),
    (
        BROKER,
        [("max.connections.per.ip.overrides", SET, "c" * 32_768)],
        "INVALID_CONFIG",
        "maximum value size of 32767",
    ),
    (BROKER, [("no.such", APPEND, "5")], "INVALID_CONFIG", "Unknown config name: no.such"),
    (BROKER, [("node.id", SET, "5")], "INVALID_REQUEST", "Cannot update these configs dynamically: [node.id]"),
    (BROKER, [(MIN_ISR, SET, "1")], "INVALID_CONFIG", "Broker-level min.insync.replicas cannot be altered"),
    (ALL_BROKERS, [(MIN_ISR, DELETE, None)], "INVALID_CONFIG", "Cluster-level min.insync.replicas cannot be removed"),
    (BROKER._replace(name="9"), [], "BROKER_ID_NOT_REGISTERED", "No node with id 9 found."),
    (BROKER._replace(name="x"), [], "INVALID_REQUEST", "base 10"),
    (BROKER._replace(name="-1"), [], "INVALID_REQUEST", "negative broker ID"),
    (ConfigResource(ConfigResourceType.GROUP, "g"), [], "INVALID_REQUEST", "Unknown resource type 32"),
]


@pytest.mark.parametrize(("resource", "changes", "code", "message"), REFUSED)
def test_what_cannot_be_is_refused(
    cluster: SmallCluster, resource: ConfigResource, changes: list[tuple[Any, ...]], code: str, message: str
) -> None:
    before = settings(cluster, resource)
    answer = change(cluster, resource, *changes)
    assert (answer.error.name, message in (answer.message or "")) == (code, True), answer
    assert settings(cluster, resource) == before


def test_a_resource_that_is_named_twice_is_left_alone(cluster: SmallCluster) -> None:
    given = [(A, [SettingChange("retention.ms", SET, "7")]), (A, [SettingChange("segment.ms", SET, "8")])]
    for decide in (Controller.change_settings, Controller.replace_settings):
        decision = decide(cluster.controller, given)
        assert decision.records == []
        assert {(each.error.name, each.message) for each in decision.answer} == {
            ("INVALID_REQUEST", "Each resource must appear at most once.")
        }


def test_what_is_set_counts_at_once(cluster: SmallCluster) -> None:
    key = cluster.key("a")
    topic = cluster.controller.cluster.image.topics.topic(key.topic_id)
    change(cluster, A, (MIN_ISR, SET, "3"), ("unclean.leader.election.enable", SET, "true"))
    assert cluster.controller.cluster.min_isr(topic) == 3
    assert cluster.controller.cluster.unclean_allowed(topic)
