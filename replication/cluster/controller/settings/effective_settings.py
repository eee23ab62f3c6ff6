"""What a topic is set to, with where each value is from (Kafka: computeEffectiveTopicConfigs)."""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from replication.cluster.controller.cluster_state import ClusterState
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.settings.topic_settings import SHARED_SETTINGS, TOPIC_SETTINGS


class SettingSource(IntEnum):
    """Who has set something (Kafka: DescribeConfigsResponse.ConfigSource)."""

    TOPIC = 1
    ALL_BROKERS = 3
    CONTROLLER = 4
    """In its own file."""
    DEFAULT = 5


class EffectiveSetting(NamedTuple):
    """A setting that holds for a topic."""

    name: str
    value: str
    source: SettingSource


def effective_settings(cluster: ClusterState, own: Mapping[str, str | None]) -> list[EffectiveSetting]:
    """Return all that holds for a topic with settings of its own, by name."""
    of_all = cluster.image.configurations.of(ConfigResourceType.BROKER, "")
    found = []
    for name, known in TOPIC_SETTINGS.items():
        shared = of_all.get(SHARED_SETTINGS.get(name, ""))
        values = (
            (own.get(name), SettingSource.TOPIC),
            (shared, SettingSource.ALL_BROKERS),
            (cluster.own_settings.get(name), SettingSource.CONTROLLER),
        )
        value, source = next(
            ((value, source) for value, source in values if value is not None),
            (known.default or "", SettingSource.DEFAULT),
        )
        found.append(EffectiveSetting(name, value, source))
    return found
