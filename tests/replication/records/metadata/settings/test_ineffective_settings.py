"""What a broker makes of a setting is another than without it, or it is known to make no difference."""

from collections.abc import Iterator
from typing import Any

import pytest

from logstore import TopicPartition
from replication.cluster.broker.partitions.throttled_replicas import ReplicaThrottles
from replication.cluster.broker.replicas.topic_settings import TopicSettings
from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import ConfigRecord
from replication.records.metadata.settings.broker_settings import BROKER_SETTINGS
from replication.records.metadata.settings.ineffective_settings import (
    OF_BROKERS,
    OF_ONE_BROKER,
    OF_TOPICS,
    ineffective_of_brokers,
    ineffective_of_topics,
)
from replication.records.metadata.settings.setting_values import value_fault
from replication.records.metadata.settings.topic_settings import TOPIC_SETTINGS, TopicSetting

ID, TOPIC = 1, "orders"
PARTITION = TopicPartition(TOPIC, 0)
OF_TOPIC = ConfigResource(ConfigResourceType.TOPIC, TOPIC)
OF_BROKER = ConfigResource(ConfigResourceType.BROKER, str(ID))
OF_ALL = ConfigResource(ConfigResourceType.BROKER, "")
VALUES = (
    *("true", "false", "compact", "LogAppendTime", "zstd", f"0:{ID}", "localhost:5"),
    *("0.25", "1", "2", "5", "2000000", "3000000"),
)
"""For each type some that are not its default."""


def other_values(name: str, known: TopicSetting) -> Iterator[str]:
    """Values that a setting may have, and that it does not have by default."""
    allowed = (each for each in VALUES if value_fault(name, known.type, known.allowed, each) is None)
    return (each for each in allowed if each != known.default)


def made_of(*settings: tuple[ConfigResource, str, str]) -> Any:
    """All that a broker makes of settings while it runs."""
    image = ClusterImage()
    for (type_, resource), name, value in settings:
        image.replay(ConfigRecord(resource_type=type_, resource_name=resource, name=name, value=value))
    throttles = ReplicaThrottles(ID)
    throttles.take(image, [OF_TOPIC, OF_BROKER])
    of_topic = TopicSettings(broker_id=ID)
    return (
        of_topic.of_log(image, TOPIC),
        of_topic.of_leader(image, TOPIC),
        of_topic.unclean_allowed(image, TOPIC),
        [(each.bytes_per_second, each.covers(PARTITION)) for each in (throttles.leader, throttles.follower)],
        throttles.moves.bytes_per_second,
    )


def has_effect(resource: ConfigResource, name: str, known: TopicSetting) -> bool:
    values = list(other_values(name, known))
    assert values, f"no value of {VALUES} may stand for {name}"
    return any(made_of((resource, name, value)) != made_of() for value in values)


@pytest.mark.parametrize("name", sorted(TOPIC_SETTINGS))
def test_a_topics_setting_makes_a_difference_or_is_known_to_make_none(name: str) -> None:
    assert has_effect(OF_TOPIC, name, TOPIC_SETTINGS[name]) is (name not in OF_TOPICS)


@pytest.mark.parametrize("resource", [OF_BROKER, OF_ALL], ids=["its own", "of all"])
@pytest.mark.parametrize("name", sorted(BROKER_SETTINGS))
def test_a_brokers_setting_makes_a_difference_or_is_known_to_make_none(name: str, resource: ConfigResource) -> None:
    unused = OF_BROKERS if resource is OF_ALL else {**OF_BROKERS, **OF_ONE_BROKER}
    assert has_effect(resource, name, BROKER_SETTINGS[name]) is (name not in unused)


def test_no_other_names_are_known_to_make_no_difference() -> None:
    assert OF_TOPICS.keys() <= TOPIC_SETTINGS.keys()
    assert OF_BROKERS.keys() | OF_ONE_BROKER.keys() <= BROKER_SETTINGS.keys()


def test_what_is_the_case_anyway_may_be_set() -> None:
    given = {"preallocate": " FALSE ", "local.retention.ms": "-2", "retention.ms": "5"}
    assert ineffective_of_topics(given) == {}
    assert ineffective_of_brokers({"log.preallocate": "false", "log.retention.ms": "5"}, of_all=False) == {}
    assert ineffective_of_topics({**given, "preallocate": "true"}).keys() == {"preallocate"}
    assert ineffective_of_brokers({"log.preallocate": "true"}, of_all=True).keys() == {"log.preallocate"}


@pytest.mark.parametrize("text", ["", "perhaps"])
def test_a_value_that_nobody_can_read_makes_no_difference(text: str) -> None:
    assert ineffective_of_topics({"preallocate": text}).keys() == {"preallocate"}
