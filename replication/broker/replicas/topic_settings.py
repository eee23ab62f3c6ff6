"""What is set for the logs of a topic and for who leads them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from logstore import LogConfig
from replication.broker.partitions.leader_settings import LeaderSettings
from replication.int32 import parse_setting
from replication.metadata.configurations import MIN_IN_SYNC_REPLICAS, ConfigResourceType
from replication.metadata.image import ClusterImage

REPLICA_LAG_TIME_MAX_MS: Final = 30_000


class TopicSettings:
    """The topic's own settings, then those of all brokers that the metadata has, then the broker's, then Kafka's."""

    def __init__(
        self,
        defaults: Mapping[str, str] = MappingProxyType({}),
        *,
        replica_lag_time_max_ms: int = REPLICA_LAG_TIME_MAX_MS,
    ) -> None:
        """`defaults` are the broker's, under the names of topics' settings.

        Raises ValueError where a default is none of its values.
        """
        self._defaults: Final = dict(defaults)
        self._lag_ms: Final = replica_lag_time_max_ms
        LogConfig.of(self._defaults)

    def of_log(self, image: ClusterImage, topic: str) -> LogConfig:
        """Return how a topic's logs are kept. Raises ValueError for settings that cannot be."""
        return LogConfig.of({**self._defaults, **image.configurations.of(ConfigResourceType.TOPIC, topic)})

    def of_leader(self, image: ClusterImage, topic: str) -> LeaderSettings:
        """Return how a topic's partitions are led."""
        known = (
            image.configurations.of(ConfigResourceType.TOPIC, topic).get(MIN_IN_SYNC_REPLICAS),
            image.configurations.of(ConfigResourceType.BROKER, "").get(MIN_IN_SYNC_REPLICAS),
            self._defaults.get(MIN_IN_SYNC_REPLICAS),
        )
        numbers = (parse_setting(text) for text in known if text is not None)
        least = next((number for number in numbers if number is not None), 1)
        return LeaderSettings(min_insync_replicas=least, replica_lag_time_max_ms=self._lag_ms)
