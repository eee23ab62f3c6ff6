"""Topics are made, enlarged and deleted as administrators ask, and are so after a restart."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from replication.cluster.controller.controller import ControllerSettings
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.settings.topic_settings import TOPIC_SETTINGS
from tests.replication.cluster.standalone.requests.asked import (
    ABSENT,
    CREATE,
    DELETE,
    ENLARGE,
    NO_ID,
    create,
    delete,
    enlarge,
    more,
    part,
    topic,
)
from tests.replication.cluster.standalone.requests.small_standalone import SmallStandalone

TOPIC = ConfigResourceType.TOPIC
UNKNOWN = UUID(int=5)


def errors(answer: Any) -> dict[str, tuple[str, str | None]]:
    """What of topics could not be done, by their names."""
    told = getattr(answer, "topics", None) or getattr(answer, "results", None) or answer.responses
    return {each.name: (each.error_code.name, each.error_message) for each in told}


def test_a_topic_is_there_as_asked_for_and_after_a_restart(cluster: SmallStandalone) -> None:
    (told,) = cluster.ask(create(topic("a", 4, 2, retention_ms="5"))).topics
    assert (told.error_code.name, told.num_partitions, told.replication_factor) == ("none", 4, 2)
    cluster.reopen()
    made = cluster.image.topics.by_name["a"]
    assert made.id == told.topic_id
    assert [len(each.replicas) for each in made.partitions.values()] == [2] * 4
    assert cluster.image.configurations.of(TOPIC, "a") == {"retention.ms": "5"}


def test_what_holds_for_a_new_topic_is_told_with_where_it_is_from(tmp_path: Path) -> None:
    cluster = SmallStandalone(
        tmp_path, settings=ControllerSettings(defaults={"unclean.leader.election.enable": "true"})
    )
    cluster.set(ConfigResourceType.BROKER, "", "log.retention.ms", "7")
    cluster.set(ConfigResourceType.BROKER, "", "log.segment.bytes", "2000000")
    (told,) = cluster.ask(create(topic("a", segment_bytes="3000000"))).topics
    cluster.close()
    assert [each.name for each in told.configs] == sorted(TOPIC_SETTINGS)
    assert {each.name: (each.value, each.config_source) for each in told.configs if each.config_source != 5} == {
        "retention.ms": ("7", 3),
        "segment.bytes": ("3000000", 1),
        "min.insync.replicas": ("1", 3),
        "unclean.leader.election.enable": ("true", 4),
    }


@pytest.mark.parametrize("version", range(2, 8))
def test_topics_are_made_in_every_version(cluster: SmallStandalone, version: int) -> None:
    wanted = topic("a", -1, -1, assignments={0: (1, 2), 1: (2, 3)}, version=version)
    assert errors(cluster.ask(create(wanted, version=version))) == {"a": ("none", None)}
    assert [each.replicas for each in cluster.image.topics.by_name["a"].partitions.values()] == [(1, 2), (2, 3)]


def test_counts_that_are_not_given_are_the_controller_s(tmp_path: Path) -> None:
    cluster = SmallStandalone(tmp_path, 2, ControllerSettings(num_partitions=3, default_replication_factor=2))
    (told,) = cluster.ask(create(topic("a", -1, -1))).topics
    cluster.close()
    assert (told.num_partitions, told.replication_factor) == (3, 2)


def test_what_is_only_validated_is_not_made(cluster: SmallStandalone) -> None:
    before = cluster.controller.published.applied_offset
    (told,) = cluster.ask(create(topic("a", 4, 2), validate_only=True)).topics
    assert (told.error_code.name, told.num_partitions) == ("none", 4)
    assert errors(cluster.ask(create(topic("a", 4, 9), validate_only=True)))["a"][0] == "invalid_replication_factor"
    cluster.ask(create(topic("a", 2)))
    after = cluster.controller.published.applied_offset
    assert errors(cluster.ask(enlarge(more("a", 3), validate_only=True))) == {"a": ("none", None)}
    assert errors(cluster.ask(enlarge(more("a", 1), validate_only=True)))["a"][0] == "invalid_partitions"
    assert cluster.controller.published.applied_offset == after > before


def two_of_one_partition() -> Any:
    each = part(CREATE, 7, "CreatableReplicaAssignment", partition_index=0, broker_ids=(1,))
    return replace(topic("a", -1, -1), assignments=(each, each))


CREATIONS: list[tuple[Any, str, str]] = [
    (topic("known"), "topic_already_exists", "Topic 'known' already exists."),
    (topic(""), "invalid_topic_exception", "the empty string is not allowed"),
    (topic("kn/own"), "invalid_topic_exception", "ASCII alphanumerics"),
    (topic("__cluster_metadata"), "invalid_request", "Creation of internal topic __cluster_metadata is prohibited."),
    (topic("a", 0), "invalid_partitions", "non-positive"),
    (topic("a", 1, 0), "invalid_replication_factor", "larger than 0"),
    (topic("a", 1, 4), "invalid_replication_factor", "only 3 broker(s) are registered"),
    (topic("a", 10_001), "policy_violation", "Excessively large number of partitions per request."),
    (topic("a", -1, -1, assignments={0: (ABSENT,)}), "invalid_replica_assignment", f"broker {ABSENT}"),
    (topic("a", -1, -1, assignments={1: (1,)}), "invalid_replica_assignment", "0-based"),
    (topic("a", 1, -1, assignments={0: (1,)}), "invalid_request", "numPartitions"),
    (two_of_one_partition(), "invalid_replica_assignment", "multiple manual partition assignments for partition 0"),
    (topic("a", retention_ms=None), "invalid_config", "Null value not supported for topic configs: retention.ms"),
    (topic("a", retention_ms="x"), "invalid_config", "Not a number of type LONG"),
    (topic("a", no_such="x"), "invalid_config", "Unknown topic config name: no.such"),
]


@pytest.mark.parametrize(("wanted", "code", "message"), CREATIONS)
def test_a_topic_that_cannot_be_is_refused_and_others_are_made(
    cluster: SmallStandalone, wanted: Any, code: str, message: str
) -> None:
    cluster.ask(create(topic("known")))
    told = errors(cluster.ask(create(wanted, topic("other"))))
    assert told[wanted.name][0] == code
    assert message in (told[wanted.name][1] or "")
    made = code != "policy_violation"
    assert (told["other"][0] == "none") is made
    assert ("other" in cluster.image.topics.by_name) is made
    assert (wanted.name in cluster.image.topics.by_name) is (wanted.name == "known")


def test_nothing_is_made_where_no_broker_lives(cluster: SmallStandalone) -> None:
    for broker_id in (1, 2, 3):
        cluster.heartbeat(broker_id, want_fence=True)
    assert errors(cluster.ask(create(topic("a"))))["a"][0] == "invalid_replication_factor"


def test_a_topic_grows_and_has_grown_after_a_restart(cluster: SmallStandalone) -> None:
    cluster.ask(create(topic("a", 1, 2)))
    for version, wanted in ((0, more("a", 2, version=0)), (3, more("a", 4, (1, 2), (2, 3)))):
        assert errors(cluster.ask(enlarge(wanted, version=version))) == {"a": ("none", None)}
    cluster.reopen()
    replicas = [each.replicas for each in cluster.image.topics.by_name["a"].partitions.values()]
    assert replicas[2:] == [(1, 2), (2, 3)]


ENLARGEMENTS = [
    (more("unknown", 2), "unknown_topic_or_partition", ""),
    (more("a", 2), "invalid_partitions", "Topic already has 2 partition(s)."),
    (more("a", 1), "invalid_partitions", "would not be an increase"),
    (more("a", 4, (1,)), "invalid_replica_assignment", "only 1 assignment(s) were specified"),
    (more("a", 3, (1, 1)), "invalid_replica_assignment", "more than once"),
    (more("a", 3, (1,), (2,)), "invalid_replica_assignment", "2 assignment(s)"),
    (more("a", 10_003), "policy_violation", "Excessively large number of additional partitions per request."),
]


@pytest.mark.parametrize(("wanted", "code", "message"), ENLARGEMENTS)
def test_a_topic_that_cannot_grow_so_is_left_alone(
    cluster: SmallStandalone, wanted: Any, code: str, message: str
) -> None:
    cluster.ask(create(topic("a", 2)))
    told = errors(cluster.ask(enlarge(wanted)))[wanted.name]
    assert (told[0], message in (told[1] or "")) == (code, True), told
    assert len(cluster.image.topics.by_name["a"].partitions) == 2


@pytest.mark.parametrize("version", range(1, 7))
def test_a_topic_is_gone_and_with_it_its_settings(cluster: SmallStandalone, version: int) -> None:
    cluster.ask(create(topic("a", retention_ms="5"), topic("b")))
    (told,) = cluster.ask(delete("a", version=version)).responses
    assert (told.name, told.error_code.name) == ("a", "none")
    cluster.reopen()
    assert set(cluster.image.topics.by_name) == {"b"}
    assert cluster.image.configurations.of(TOPIC, "a") == {}


def test_a_topic_is_deleted_by_its_id(cluster: SmallStandalone) -> None:
    cluster.ask(create(topic("a"), topic("b")))
    ids = {name: each.id for name, each in cluster.image.topics.by_name.items()}
    told = cluster.ask(delete(ids["a"], "b")).responses
    assert {(each.name, each.topic_id, each.error_code.name) for each in told} == {
        (name, topic_id, "none") for name, topic_id in ids.items()
    }
    assert not cluster.image.topics.by_name


DELETIONS: list[tuple[Any, str, str]] = [
    ("unknown", "unknown_topic_or_partition", "This server does not host this topic-partition."),
    (UNKNOWN, "unknown_topic_id", "This server does not host this topic ID."),
    ((None, NO_ID), "invalid_request", "Neither topic name nor id were specified."),
    (("a", UNKNOWN), "invalid_request", "You may not specify both topic name and topic id."),
]


@pytest.mark.parametrize(("named", "code", "message"), DELETIONS)
def test_what_cannot_be_deleted_is_told(cluster: SmallStandalone, named: Any, code: str, message: str) -> None:
    cluster.ask(create(topic("a")))
    (told,) = cluster.ask(delete(named)).responses
    assert (told.error_code.name, told.error_message) == (code, message)
    assert set(cluster.image.topics.by_name) == {"a"}


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda: create(topic("b"), topic("b")), "b"),
        (lambda: enlarge(more("a", 2), more("a", 3)), "a"),
        (lambda: delete("a", "a"), "a"),
        (lambda: delete("b", "b"), "b"),
        (lambda: delete(UNKNOWN, UNKNOWN), None),
    ],
)
def test_what_is_named_twice_is_left_alone(cluster: SmallStandalone, ask: Callable[[], Any], named: str | None) -> None:
    cluster.ask(create(topic("a")))
    kind = "id" if named is None else "name"
    assert errors(cluster.ask(ask())) == {named: ("invalid_request", f"Duplicate topic {kind}.")}
    assert {name: len(each.partitions) for name, each in cluster.image.topics.by_name.items()} == {"a": 1}


def test_they_are_served_in_all_versions_of_kafka_4_3(cluster: SmallStandalone) -> None:
    versions = {key: api.versions for key, api in cluster.apis.items()}
    assert versions == {
        CREATE: range(2, 8),
        DELETE: range(1, 7),
        ENLARGE: range(4),
        33: range(3),
        44: range(2),
        43: range(3),
        45: range(2),
        46: range(1),
        64: range(1),
    }
