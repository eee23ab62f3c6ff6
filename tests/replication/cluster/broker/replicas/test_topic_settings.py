"""What holds for a topic's logs: its own settings, then its broker's, then all brokers', then the file's."""

import pytest

from logstore import LogConfig
from replication.cluster.broker.replicas.topic_settings import TopicSettings
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import ConfigRecord

TOPIC, BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER


def image(*settings: tuple[int, str, str, str]) -> ClusterImage:
    image = ClusterImage()
    for type_, resource, name, value in settings:
        image.replay(ConfigRecord(resource_type=type_, resource_name=resource, name=name, value=value))
    return image


def test_the_closest_setting_counts() -> None:
    settings = TopicSettings({"retention.ms": "1"}, broker_id=1)
    given: list[tuple[int, str, str, str]] = []
    for more in (
        (BROKER, "2", "log.retention.ms", "9"),
        (BROKER, "", "log.retention.ms", "2"),
        (BROKER, "1", "log.retention.ms", "3"),
        (TOPIC, "orders", "retention.ms", "4"),
    ):
        given.append(more)
        expected = {1: 1, 2: 2, 3: 3, 4: 4}[len(given)]
        assert settings.of_log(image(*given), "orders").retention_ms == expected
    assert settings.of_log(image(*given), "other").retention_ms == 3


@pytest.mark.parametrize(
    ("name", "field"),
    [("log.segment.bytes", "segment_bytes"), ("log.roll.ms", "segment_ms"), ("message.max.bytes", "max_message_bytes")],
)
def test_brokers_name_them_otherwise(name: str, field: str) -> None:
    config = TopicSettings().of_log(image((BROKER, "", name, "2000000")), "orders")
    assert getattr(config, field) == 2_000_000


def test_what_brokers_set_is_passed_over_where_a_topic_cannot_have_it_too() -> None:
    own = ((TOPIC, "orders", "cleanup.policy", "compact"), (TOPIC, "orders", "max.compaction.lag.ms", "5"))
    shared = (BROKER, "", "log.cleaner.min.compaction.lag.ms", "6")
    config = TopicSettings().of_log(image(*own, shared), "orders")
    assert config == LogConfig(
        cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=5, remote_storage_enable=False
    )


@pytest.mark.parametrize("told", [True, False])
def test_of_each_topic_it_is_known_whether_it_has_remote_storage(*, told: bool) -> None:
    given = (TOPIC, "orders", "remote.storage.enable", "true")
    config = TopicSettings().of_log(image(*[given] * told), "orders")
    assert config == LogConfig(remote_storage_enable=told)


def test_so_many_replicas_must_be_in_sync_as_is_set_closest() -> None:
    name = "min.insync.replicas"
    settings = TopicSettings({name: "2"}, broker_id=1)
    given = [(BROKER, "", name, "3"), (BROKER, "1", name, "4"), (TOPIC, "orders", name, "5")]
    least = [settings.of_leader(image(*given[:count]), "orders").min_insync_replicas for count in range(4)]
    assert least == [2, 3, 4, 5]
