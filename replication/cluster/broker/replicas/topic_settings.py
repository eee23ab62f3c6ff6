"""What is set for the logs of a topic and for who leads them."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final

from logstore import LogConfig
from replication.base.int32 import parse_setting
from replication.cluster.broker.partitions.leader_settings import LeaderSettings
from replication.records.leadership.topic_settings import TopicSettings as TopicElections
from replication.records.metadata.configurations import MIN_IN_SYNC_REPLICAS, ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.settings.topic_settings import SHARED_SETTINGS

_log: Final = logging.getLogger(__name__)
REPLICA_LAG_TIME_MAX_MS: Final = 30_000
_NO_REMOTE: Final = {"remote.storage.enable": "false"}
"""Kafka's default: the metadata says of each topic that has remote storage that it has."""


class TopicSettings:
    """What is set for a topic, then for this broker and for all brokers, then by its file, then by Kafka."""

    def __init__(
        self,
        defaults: Mapping[str, str] = MappingProxyType({}),
        *,
        broker_id: int | None = None,
        replica_lag_time_max_ms: int = REPLICA_LAG_TIME_MAX_MS,
    ) -> None:
        """`defaults` are those of the broker's file, under the names of topics' settings.

        Raises ValueError where a default is none of its values.
        """
        self._defaults: Final = dict(defaults)
        self._broker: Final = "" if broker_id is None else str(broker_id)
        self._lag_ms: Final = replica_lag_time_max_ms
        self._image: ClusterImage | None = None
        self._of_logs: dict[str, LogConfig] = {}
        """By topics, as of that image: a topic has many partitions."""
        LogConfig.of(self._defaults)

    def of_log(self, image: ClusterImage, topic: str) -> LogConfig:
        """Return how a topic's logs are kept. Raises ValueError for settings that cannot be. One thread asks.

        Those of brokers are passed over where the topic's own cannot be together with them.
        """
        if image is not self._image:
            self._image = image
            self._of_logs.clear()
        if topic not in self._of_logs:
            self._of_logs[topic] = self._log_config(image, topic)
        return self._of_logs[topic]

    def unclean_allowed(self, image: ClusterImage, topic: str) -> bool:
        """Whether a replica out of sync may lead where no other is left, unless controllers' own files say else."""
        return TopicElections(image.configurations, self._defaults).unclean_allowed(topic)

    def _log_config(self, image: ClusterImage, topic: str) -> LogConfig:
        own = image.configurations.of(ConfigResourceType.TOPIC, topic)
        shared = self._shared(image)
        if shared:
            with suppress(ValueError):
                return LogConfig.of({**_NO_REMOTE, **self._defaults, **shared, **own})
        try:
            return LogConfig.of({**_NO_REMOTE, **self._defaults, **own})
        except ValueError as error:
            _log.error("%s: its settings and the broker's own cannot be together (%s): its own hold", topic, error)
            return LogConfig.of({**_NO_REMOTE, **own})

    def _shared(self, image: ClusterImage) -> dict[str, str]:
        """Return what the metadata sets for this broker, or for all, under the names of topics' settings."""
        known = {
            **image.configurations.of(ConfigResourceType.BROKER, ""),
            **image.configurations.of(ConfigResourceType.BROKER, self._broker),
        }
        return {name: known[shared] for name, shared in SHARED_SETTINGS.items() if shared in known}

    def of_leader(self, image: ClusterImage, topic: str) -> LeaderSettings:
        """Return how a topic's partitions are led."""
        known = (
            image.configurations.of(ConfigResourceType.TOPIC, topic).get(MIN_IN_SYNC_REPLICAS),
            self._shared(image).get(MIN_IN_SYNC_REPLICAS),
            self._defaults.get(MIN_IN_SYNC_REPLICAS),
        )
        numbers = (parse_setting(text) for text in known if text is not None)
        least = next((number for number in numbers if number is not None), 1)
        return LeaderSettings(min_insync_replicas=least, replica_lag_time_max_ms=self._lag_ms)
