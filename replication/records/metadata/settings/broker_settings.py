"""The settings of brokers that may change while they run, and are no secrets (Kafka: DynamicBrokerConfig)."""

from collections.abc import Mapping
from typing import Final

from replication.records.metadata.settings.setting_values import Allowed, Anything, Between, SettingType
from replication.records.metadata.settings.topic_settings import TOPIC_SETTINGS, TopicSetting

_ANY: Final = Anything()
_INT, _LONG, _DOUBLE = SettingType.INT, SettingType.LONG, SettingType.DOUBLE
_OTHERS: Final[tuple[tuple[SettingType, Allowed, tuple[str, ...]], ...]] = (
    (_INT, Between(1), ("background.threads", "num.io.threads", "num.network.threads")),
    (_INT, Between(1), ("num.recovery.threads.per.data.dir", "num.replica.fetchers")),
    (_INT, Between(0), ("log.cleaner.io.buffer.size", "log.cleaner.threads")),
    (_INT, Between(0), ("max.connection.creation.rate", "max.connections", "max.connections.per.ip")),
    (_LONG, Between(0), ("follower.replication.throttled.rate", "leader.replication.throttled.rate")),
    (_LONG, Between(0), ("log.cleaner.backoff.ms", "replica.alter.log.dirs.io.max.bytes.per.second")),
    (_LONG, _ANY, ("log.flush.interval.ms", "log.retention.ms", "log.roll.jitter.ms", "log.roll.ms")),
    (_LONG, _ANY, ("log.cleaner.dedupe.buffer.size",)),
    (_DOUBLE, _ANY, ("log.cleaner.io.buffer.load.factor", "log.cleaner.io.max.bytes.per.second")),
    (SettingType.STRING, _ANY, ("max.connections.per.ip.overrides",)),
)

BROKER_SETTINGS: Final[Mapping[str, TopicSetting]] = {
    **{each.synonym: each for each in TOPIC_SETTINGS.values() if each.synonym is not None},
    **{name: TopicSetting(type_, None, allowed=allowed) for type_, allowed, names in _OTHERS for name in names},
}
"""By name: those that are defaults of topics', and others. What else Kafka lets change is for listeners with keys,
which ours read when they start, and for what ours do not have."""
