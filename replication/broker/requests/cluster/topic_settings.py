"""The settings of topics, with Kafka's defaults (Kafka: TopicConfig, LogConfig)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

_BOOLEAN, _STRING, _INT, _LONG, _DOUBLE, _LIST = 1, 2, 3, 5, 6, 7
_MAX: Final = str(2**63 - 1)


class TopicSetting(NamedTuple):
    """What holds where nobody has set it."""

    type: int
    """Kafka: DescribeConfigsResponse.ConfigType."""
    default: str | None
    synonym: str | None = None
    """The setting of brokers that holds for topics for which it is not set; None where several do, or none."""


TOPIC_SETTINGS: Final[Mapping[str, TopicSetting]] = {
    "cleanup.policy": TopicSetting(_LIST, "delete", "log.cleanup.policy"),
    "compression.gzip.level": TopicSetting(_INT, "-1", "compression.gzip.level"),
    "compression.lz4.level": TopicSetting(_INT, "9", "compression.lz4.level"),
    "compression.type": TopicSetting(_STRING, "producer", "compression.type"),
    "compression.zstd.level": TopicSetting(_INT, "3", "compression.zstd.level"),
    "delete.retention.ms": TopicSetting(_LONG, "86400000", "log.cleaner.delete.retention.ms"),
    "file.delete.delay.ms": TopicSetting(_LONG, "60000", "log.segment.delete.delay.ms"),
    "flush.messages": TopicSetting(_LONG, _MAX, "log.flush.interval.messages"),
    "flush.ms": TopicSetting(_LONG, _MAX),
    "follower.replication.throttled.replicas": TopicSetting(_LIST, ""),
    "index.interval.bytes": TopicSetting(_INT, "4096", "log.index.interval.bytes"),
    "leader.replication.throttled.replicas": TopicSetting(_LIST, ""),
    "local.retention.bytes": TopicSetting(_LONG, "-2", "log.local.retention.bytes"),
    "local.retention.ms": TopicSetting(_LONG, "-2", "log.local.retention.ms"),
    "max.compaction.lag.ms": TopicSetting(_LONG, _MAX, "log.cleaner.max.compaction.lag.ms"),
    "max.message.bytes": TopicSetting(_INT, "1048588", "message.max.bytes"),
    "message.timestamp.after.max.ms": TopicSetting(_LONG, "3600000", "log.message.timestamp.after.max.ms"),
    "message.timestamp.before.max.ms": TopicSetting(_LONG, _MAX, "log.message.timestamp.before.max.ms"),
    "message.timestamp.type": TopicSetting(_STRING, "CreateTime", "log.message.timestamp.type"),
    "min.cleanable.dirty.ratio": TopicSetting(_DOUBLE, "0.5", "log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": TopicSetting(_LONG, "0", "log.cleaner.min.compaction.lag.ms"),
    "min.insync.replicas": TopicSetting(_INT, "1", "min.insync.replicas"),
    "preallocate": TopicSetting(_BOOLEAN, "false", "log.preallocate"),
    "remote.log.copy.disable": TopicSetting(_BOOLEAN, "false"),
    "remote.log.delete.on.disable": TopicSetting(_BOOLEAN, "false"),
    "remote.storage.enable": TopicSetting(_BOOLEAN, "false"),
    "retention.bytes": TopicSetting(_LONG, "-1", "log.retention.bytes"),
    "retention.ms": TopicSetting(_LONG, "604800000"),
    "segment.bytes": TopicSetting(_INT, "1073741824", "log.segment.bytes"),
    "segment.index.bytes": TopicSetting(_INT, "10485760", "log.index.size.max.bytes"),
    "segment.jitter.ms": TopicSetting(_LONG, "0"),
    "segment.ms": TopicSetting(_LONG, "604800000"),
    "unclean.leader.election.enable": TopicSetting(_BOOLEAN, "false", "unclean.leader.election.enable"),
}
"""By name, as Kafka 4.3 has them."""
