"""The settings of topics that elections depend on, as a controller looks them up."""

from collections.abc import Iterator, Mapping
from typing import Final

from replication.base.int32 import parse_setting
from replication.records.leadership.broker_event import Terms
from replication.records.leadership.partition_change import Election
from replication.records.leadership.rules import Rules
from replication.records.metadata.configurations import (
    MIN_IN_SYNC_REPLICAS,
    UNCLEAN_LEADER_ELECTION,
    ConfigResourceType,
    Configurations,
)
from replication.records.metadata.topics import Topic

_KAFKA_DEFAULTS: Final[Mapping[str, str]] = {MIN_IN_SYNC_REPLICAS: "1", UNCLEAN_LEADER_ELECTION: "false"}


class TopicSettings:
    """What is set for topics: their own, the active controller's, the cluster's, or Kafka's defaults."""

    def __init__(self, configurations: Configurations, own: Mapping[str, str], controller: int | None = None) -> None:
        """`own` is what the controller's file of properties sets, `controller` its id where it has settings by that."""
        self._configurations = configurations
        self._own = own
        self._controller = controller

    def value(self, topic: str, name: str) -> str:
        """Return what a topic's setting is."""
        return next(self._values(topic, name))

    def unclean_allowed(self, topic: str) -> bool:
        """Whether a replica out of sync may lead where no other is left."""
        return self.value(topic, UNCLEAN_LEADER_ELECTION).lower() == "true"

    def terms(self, topic: Topic, rules: Rules) -> Terms:
        """Return under which terms a topic's leaders are elected, without anybody asking."""
        election = Election.UNCLEAN if self.unclean_allowed(topic.name) else Election.ONLINE
        return Terms(election, rules, self.min_isr(topic) if rules.elr else 1)

    def min_isr(self, topic: Topic) -> int:
        """How many replicas must be in sync for acks=all, at most as many as there are."""
        numbers = map(parse_setting, self._values(topic.name, MIN_IN_SYNC_REPLICAS))
        readable = next((number for number in numbers if number is not None and number > 0), 1)
        return min(readable, len(topic.partitions[0].replicas))

    def _values(self, topic: str, name: str) -> Iterator[str]:
        """Give what is set, the closest first: a log may hold values that nobody can read, and then the next counts."""
        nodes = [""] if self._controller is None else [str(self._controller), ""]
        resources = [(ConfigResourceType.TOPIC, topic), *((ConfigResourceType.BROKER, node) for node in nodes)]
        for type_, resource in resources:
            value = self._configurations.of(type_, resource).get(name)
            if value is not None:
                yield value
        yield self._own.get(name, _KAFKA_DEFAULTS[name])
        yield _KAFKA_DEFAULTS[name]
