"""Settings change as administrators ask, and have changed after a restart."""

from typing import Any

import pytest

from replication.records.metadata.configurations import ConfigResourceType
from tests.replication.cluster.standalone.requests.asked import (
    ALTER,
    BROKER,
    REPLACE,
    SET,
    TOPIC,
    alter,
    asked,
    change,
    create,
    part,
    replace,
    replaced,
    resource,
    topic,
)
from tests.replication.cluster.standalone.requests.small_standalone import SmallStandalone


@pytest.fixture(autouse=True)
def _made(cluster: SmallStandalone) -> None:
    cluster.ask(create(topic("a", retention_ms="5")))


def errors(answer: Any) -> list[tuple[str, str | None]]:
    return [(each.error_code.name, each.error_message) for each in answer.responses]


def settings(cluster: SmallStandalone, kind: int = ConfigResourceType.TOPIC, name: str = "a") -> dict[str, str]:
    return dict(cluster.image.configurations.of(kind, name))


@pytest.mark.parametrize("version", range(2))
def test_what_is_set_is_set_after_a_restart(cluster: SmallStandalone, version: int) -> None:
    given = part(ALTER, version, "AlterableConfig", name="segment.ms", config_operation=SET, value="7")
    of_a = part(ALTER, version, "AlterConfigsResource", resource_type=TOPIC, resource_name="a", configs=(given,))
    answer = cluster.ask(asked(ALTER, version, resources=(of_a,), validate_only=False))
    assert errors(answer) == [("none", None)]
    assert [(each.resource_type, each.resource_name) for each in answer.responses] == [(TOPIC, "a")]
    cluster.reopen()
    assert settings(cluster) == {"retention.ms": "5", "segment.ms": "7"}


@pytest.mark.parametrize("version", range(3))
def test_what_replaces_settings_has_replaced_them_after_a_restart(cluster: SmallStandalone, version: int) -> None:
    given = part(REPLACE, version, "AlterableConfig", name="segment.ms", value="7")
    of_a = part(REPLACE, version, "AlterConfigsResource", resource_type=TOPIC, resource_name="a", configs=(given,))
    assert errors(cluster.ask(asked(REPLACE, version, resources=(of_a,), validate_only=False))) == [("none", None)]
    cluster.reopen()
    assert settings(cluster) == {"segment.ms": "7"}


def test_what_is_only_validated_is_not_set(cluster: SmallStandalone) -> None:
    for value, error in (("7", "none"), ("x", "invalid_config")):
        of_a = resource(TOPIC, "a", change("retention.ms", SET, value))
        assert errors(cluster.ask(alter(of_a, validate_only=True)))[0][0] == error
        whole = replaced(TOPIC, "a", retention_ms=value)
        assert errors(cluster.ask(replace(whole, validate_only=True)))[0][0] == error
    assert settings(cluster) == {"retention.ms": "5"}


def test_a_broker_sets_itself_and_all_but_no_other(cluster: SmallStandalone) -> None:
    given = change("log.retention.ms", SET, "7")
    answer = cluster.ask(alter(*(resource(BROKER, name, given) for name in ("2", "1", "", "x"))))
    assert errors(answer) == [
        ("invalid_request", "Unexpected broker id, expected 1, but received 2"),
        ("none", None),
        ("none", None),
        ("invalid_request", "Node id must be an integer, but it is: x"),
    ]
    assert [each.resource_name for each in answer.responses] == ["2", "1", "", "x"]
    for name, known in (("1", {"log.retention.ms": "7"}), ("2", {})):
        assert settings(cluster, ConfigResourceType.BROKER, name) == known


@pytest.mark.parametrize(
    ("ask", "code", "message"),
    [
        (alter(resource(TOPIC, "b", change("retention.ms", SET, "1"))), "unknown_topic_or_partition", "does not exist"),
        (alter(resource(TOPIC, "a", change("retention.ms", SET, "x"))), "invalid_config", "Not a number of type LONG"),
        (alter(resource(TOPIC, "a", change("retention.ms", 9, "1"))), "invalid_request", "Unknown operation 9"),
        (alter(resource(TOPIC, "a", change("retention.ms", SET))), "invalid_request", "Null value not supported"),
        (alter(resource(77, "a")), "invalid_request", "Unknown resource type 77"),
        (replace(replaced(TOPIC, "b")), "unknown_topic_or_partition", "does not exist"),
        (replace(replaced(TOPIC, "a", retention_ms="x")), "invalid_config", "Not a number of type LONG"),
        (replace(replaced(TOPIC, "a", retention_ms=None)), "invalid_request", "Null value not supported"),
        (replace(replaced(TOPIC, "a"), replaced(TOPIC, "a")), "invalid_request", "at most once"),
        (replace(replaced(BROKER, "2", log_retention_ms="1")), "invalid_request", "Unexpected broker id"),
    ],
)
def test_what_cannot_be_set_is_refused(cluster: SmallStandalone, ask: Any, code: str, message: str) -> None:
    for error, told in errors(cluster.ask(ask)):
        assert (error, message in (told or "")) == (code, True), told
    assert settings(cluster) == {"retention.ms": "5"}
