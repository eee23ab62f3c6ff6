"""The settings of topics, with Kafka's defaults and bounds (Kafka: TopicConfig, LogConfig)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from replication.records.metadata.settings.setting_values import (
    Allowed,
    Anything,
    Between,
    GzipLevels,
    OneOf,
    SettingType,
    ThrottledReplicas,
    parse_value,
    value_fault,
)

_BOOLEAN, _STRING, _INT, _LONG, _DOUBLE, _LIST = SettingType
_ANY: Final = Anything()
_NOT_NEGATIVE: Final = Between(0)
_POSITIVE: Final = Between(1)
_NO_LIMIT: Final = Between(-1)
_AS_THE_WHOLE: Final = Between(-2)
_CODECS: Final = OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"))
_POLICIES: Final = OneOf(("compact", "delete"))
_TIMES: Final = OneOf(("CreateTime", "LogAppendTime"))
_REPLICAS: Final = ThrottledReplicas()
_MAX: Final = str(2**63 - 1)


class TopicSetting(NamedTuple):
    """What holds where nobody has set it."""

    type: int
    """Kafka: DescribeConfigsResponse.ConfigType."""
    default: str | None
    synonym: str | None = None
    """The setting of brokers that holds for topics for which it is not set; None where several do, or none."""
    allowed: Allowed = _ANY


TOPIC_SETTINGS: Final[Mapping[str, TopicSetting]] = {
    "cleanup.policy": TopicSetting(_LIST, "delete", "log.cleanup.policy", _POLICIES),
    "compression.gzip.level": TopicSetting(_INT, "-1", "compression.gzip.level", GzipLevels()),
    "compression.lz4.level": TopicSetting(_INT, "9", "compression.lz4.level", Between(1, 17)),
    "compression.type": TopicSetting(_STRING, "producer", "compression.type", _CODECS),
    "compression.zstd.level": TopicSetting(_INT, "3", "compression.zstd.level", Between(-(1 << 17), 22)),
    "delete.retention.ms": TopicSetting(_LONG, "86400000", "log.cleaner.delete.retention.ms", _NOT_NEGATIVE),
    "file.delete.delay.ms": TopicSetting(_LONG, "60000", "log.segment.delete.delay.ms", _NOT_NEGATIVE),
    "flush.messages": TopicSetting(_LONG, _MAX, "log.flush.interval.messages", _POSITIVE),
    "flush.ms": TopicSetting(_LONG, _MAX, allowed=_NOT_NEGATIVE),
    "follower.replication.throttled.replicas": TopicSetting(_LIST, "", allowed=_REPLICAS),
    "index.interval.bytes": TopicSetting(_INT, "4096", "log.index.interval.bytes", _NOT_NEGATIVE),
    "leader.replication.throttled.replicas": TopicSetting(_LIST, "", allowed=_REPLICAS),
    "local.retention.bytes": TopicSetting(_LONG, "-2", "log.local.retention.bytes", _AS_THE_WHOLE),
    "local.retention.ms": TopicSetting(_LONG, "-2", "log.local.retention.ms", _AS_THE_WHOLE),
    "max.compaction.lag.ms": TopicSetting(_LONG, _MAX, "log.cleaner.max.compaction.lag.ms", _POSITIVE),
    "max.message.bytes": TopicSetting(_INT, "1048588", "message.max.bytes", _NOT_NEGATIVE),
    "message.timestamp.after.max.ms": TopicSetting(
        _LONG, "3600000", "log.message.timestamp.after.max.ms", _NOT_NEGATIVE
    ),
    "message.timestamp.before.max.ms": TopicSetting(_LONG, _MAX, "log.message.timestamp.before.max.ms", _NOT_NEGATIVE),
    "message.timestamp.type": TopicSetting(_STRING, "CreateTime", "log.message.timestamp.type", _TIMES),
    "min.cleanable.dirty.ratio": TopicSetting(_DOUBLE, "0.5", "log.cleaner.min.cleanable.ratio", Between(0, 1)),
    "min.compaction.lag.ms": TopicSetting(_LONG, "0", "log.cleaner.min.compaction.lag.ms", _NOT_NEGATIVE),
    "min.insync.replicas": TopicSetting(_INT, "1", "min.insync.replicas", _POSITIVE),
    "preallocate": TopicSetting(_BOOLEAN, "false", "log.preallocate"),
    "remote.log.copy.disable": TopicSetting(_BOOLEAN, "false"),
    "remote.log.delete.on.disable": TopicSetting(_BOOLEAN, "false"),
    "remote.storage.enable": TopicSetting(_BOOLEAN, "false"),
    "retention.bytes": TopicSetting(_LONG, "-1", "log.retention.bytes", _NO_LIMIT),
    "retention.ms": TopicSetting(_LONG, "604800000", allowed=_NO_LIMIT),
    "segment.bytes": TopicSetting(_INT, "1073741824", "log.segment.bytes", Between(1 << 20)),
    "segment.index.bytes": TopicSetting(_INT, "10485760", "log.index.size.max.bytes", Between(4)),
    "segment.jitter.ms": TopicSetting(_LONG, "0", allowed=_NOT_NEGATIVE),
    "segment.ms": TopicSetting(_LONG, "604800000", allowed=_POSITIVE),
    "unclean.leader.election.enable": TopicSetting(_BOOLEAN, "false", "unclean.leader.election.enable"),
}
"""By name, as Kafka 4.3 has them."""

SHARED_SETTINGS: Final[Mapping[str, str]] = {
    **{name: each.synonym for name, each in TOPIC_SETTINGS.items() if each.synonym is not None},
    "flush.ms": "log.flush.interval.ms",
    "retention.ms": "log.retention.ms",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
}
"""The settings of brokers that hold for topics without one of their own, by those of topics; where there are several,
the one that may change while brokers run."""

_LAGS: Final = ("min.compaction.lag.ms", "max.compaction.lag.ms")
_TIERED: Final = "remote.storage.enable"
_NOT_TIERED: Final = (
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
)


def settings_fault(settings: Mapping[str, str]) -> str | None:
    """Return why a topic cannot have all these settings, in Kafka's words; None where it can."""
    unknown = next((name for name in settings if name not in TOPIC_SETTINGS), None)
    if unknown is not None:
        return f"Unknown topic config name: {unknown}"
    for name, text in settings.items():
        known = TOPIC_SETTINGS[name]
        fault = value_fault(name, known.type, known.allowed, text)
        if fault is not None:
            return fault
    least, most = (parse_value(_LONG, settings.get(name, TOPIC_SETTINGS[name].default or "")) for name in _LAGS)
    if least > most:
        return f"conflict topic config setting {_LAGS[0]} ({least}) > {_LAGS[1]} ({most})"
    if settings.get(_TIERED, "").strip().lower() == "true":
        return _NOT_TIERED
    return None
