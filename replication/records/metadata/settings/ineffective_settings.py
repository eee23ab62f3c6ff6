"""Settings of Kafka's that make no difference to a broker of ours, and why."""

from collections.abc import Mapping
from typing import Final

from replication.records.metadata.configurations import UNCLEAN_LEADER_ELECTION
from replication.records.metadata.settings.setting_values import parse_value
from replication.records.metadata.settings.topic_settings import SHARED_SETTINGS, TOPIC_SETTINGS

_THREADS: Final = "threads come and go with what there is to do"
_AT_START: Final = "a broker takes it from its file, when it starts"
_CLEANING: Final = "logs are compacted one after another, in the same memory and as fast as they can be"
_NOT_REMOTE: Final = "there is no remote storage"

OF_TOPICS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("local.retention.bytes", "local.retention.ms"), _NOT_REMOTE),
    **dict.fromkeys(("remote.log.copy.disable", "remote.log.delete.on.disable"), _NOT_REMOTE),
    "compression.lz4.level": "lz4 compresses at one level, as Kafka does by default",
    "preallocate": "no file is made larger than what it holds",
}
"""By name: other values than the default."""
_SHARED: Final = {SHARED_SETTINGS[name]: name for name in OF_TOPICS if name in SHARED_SETTINGS}
OF_BROKERS: Final[Mapping[str, str]] = {
    **{shared: OF_TOPICS[name] for shared, name in _SHARED.items()},
    **dict.fromkeys(("background.threads", "num.io.threads", "num.network.threads"), _THREADS),
    **dict.fromkeys(("max.connections", "max.connections.per.ip", "log.cleaner.backoff.ms"), _AT_START),
    "num.replica.fetchers": _AT_START,
    "num.recovery.threads.per.data.dir": "logs are recovered when a broker starts, by two threads in each directory",
    **dict.fromkeys(("log.cleaner.dedupe.buffer.size", "log.cleaner.threads"), _CLEANING),
    **dict.fromkeys(("log.cleaner.io.buffer.load.factor", "log.cleaner.io.buffer.size"), _CLEANING),
    "log.cleaner.io.max.bytes.per.second": _CLEANING,
    "max.connection.creation.rate": "connections are accepted as fast as they come",
    "max.connections.per.ip.overrides": "max.connections.per.ip, from a broker's file, holds for each address",
}
"""By name: while a broker runs, and of those that hold for topics other values than the default."""
OF_ONE_BROKER: Final[Mapping[str, str]] = {
    UNCLEAN_LEADER_ELECTION: "elections go by what is set for topics, or for all brokers"
}
"""What makes a difference only where it is set for all brokers."""


def ineffective_of_topics(settings: Mapping[str, str]) -> dict[str, str]:
    """Return which of a topic's settings make no difference, and why."""
    return {name: OF_TOPICS[name] for name in settings if name in OF_TOPICS and not _is_default(name, settings[name])}


def ineffective_of_brokers(settings: Mapping[str, str], *, of_all: bool) -> dict[str, str]:
    """Return which settings of a broker that runs, or `of_all`, make no difference to it, and why."""
    known = OF_BROKERS if of_all else {**OF_BROKERS, **OF_ONE_BROKER}
    found = {name: known[name] for name in settings if name in known}
    defaults = [name for name in found if name in _SHARED and _is_default(_SHARED[name], settings[name])]
    return {name: why for name, why in found.items() if name not in defaults}


def _is_default(name: str, text: str) -> bool:
    known = TOPIC_SETTINGS[name]
    try:
        return bool(parse_value(known.type, text) == parse_value(known.type, known.default or ""))
    except ValueError:
        return False
