"""Kafka's settings of brokers, as far as clusters for tests act upon them."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

from replication.records.metadata.settings.ineffective_settings import ineffective_of_topics
from replication.records.metadata.settings.setting_values import (
    Allowed,
    Anything,
    Between,
    SettingType,
    parse_value,
    value_fault,
)
from replication.records.metadata.settings.topic_settings import SHARED_SETTINGS, TOPIC_SETTINGS, settings_fault

_PARTITIONS: Final = "num.partitions"
_FACTOR: Final = "default.replication.factor"
_AUTO_CREATE: Final = "auto.create.topics.enable"
_REBALANCE_DELAY: Final = "group.initial.rebalance.delay.ms"
_CLEANER_BACKOFF: Final = "log.cleaner.backoff.ms"
_OF_CONTROLLER: Final = {_PARTITIONS: "num_partitions", _FACTOR: "default_replication_factor"}
_OF_NODES: Final = {
    _AUTO_CREATE: "auto_create_topics",
    _REBALANCE_DELAY: "rebalance_delay_ms",
    _CLEANER_BACKOFF: "cleaner_backoff_ms",
}
_ALLOWED: Final[Mapping[str, tuple[SettingType, Allowed]]] = {
    _PARTITIONS: (SettingType.INT, Between(1)),
    _FACTOR: (SettingType.INT, Between(1)),
    _AUTO_CREATE: (SettingType.BOOLEAN, Anything()),
    _REBALANCE_DELAY: (SettingType.INT, Between(0)),
    _CLEANER_BACKOFF: (SettingType.LONG, Between(0)),
}
_OF_TOPICS: Final[Mapping[str, str]] = {
    **{name: name for name in TOPIC_SETTINGS},
    **{of_broker: of_topic for of_topic, of_broker in SHARED_SETTINGS.items()},
}
"""Topics' names of settings, by those names and by the brokers' own."""
KNOWN: Final = frozenset({*_OF_CONTROLLER, *_OF_NODES, *_OF_TOPICS})


class ClusterDefaults(NamedTuple):
    """Settings that were given, by whom they are for."""

    controller: Mapping[str, Any]
    """As `ControllerSettings` calls them."""
    nodes: Mapping[str, Any]
    """As `NodeSettings` calls them."""
    topics: Mapping[str, str]
    """Under the names that topics' settings have."""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Create it from settings by Kafka's names. Raises ValueError for unknown ones, and for wrong values."""
        unknown = sorted(given.keys() - KNOWN)
        if unknown:
            raise ValueError(
                f"{', '.join(unknown)}: not a setting that a cluster for tests acts upon; these are: "
                f"{', '.join(sorted(KNOWN))}"
            )
        twice = [pair for pair in SHARED_SETTINGS.items() if pair[0] != pair[1] and given.keys() >= set(pair)]
        if twice:
            raise ValueError("; ".join(f"{one} and {other} are one setting: give it once" for one, other in twice))
        topics = {_OF_TOPICS[name]: text for name, text in given.items() if name in _OF_TOPICS}
        fault = settings_fault(topics)
        if fault is not None:
            raise ValueError(fault)
        if unused := ineffective_of_topics(topics):
            told = (f"{name}: makes no difference to a cluster for tests: {why}" for name, why in unused.items())
            raise ValueError("; ".join(told))
        return cls(_taken(_OF_CONTROLLER, given), _taken(_OF_NODES, given), topics)


def _taken(names: Mapping[str, str], given: Mapping[str, str]) -> dict[str, Any]:
    return {ours: _value(name, given[name]) for name, ours in names.items() if name in given}


def _value(name: str, text: str) -> Any:
    kind, allowed = _ALLOWED[name]
    fault = value_fault(name, kind, allowed, text)
    if fault is not None:
        raise ValueError(fault)
    return parse_value(kind, text)
