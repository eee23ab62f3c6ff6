"""Where the topics of coordinators are to lie so that another broker than this one leads each of their partitions."""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple, Self

from replication.cluster.controller.topics.replica_placement import UsableBroker, place_replicas
from replication.cluster.node.coordinators.coordinator_topic import CoordinatorTopic
from replication.cluster.node.coordinators.errors import TooFewCoordinatorsError


class Coordinator(NamedTuple):
    """Another broker, which coordinates."""

    id: int
    rack: str | None
    settings: Mapping[str, str]
    """Those of its settings that say how the topics are made."""

    def number(self, setting: str) -> int:
        """Return the value of a setting that is a number."""
        return int(self.settings[setting])


class PlacedTopic(NamedTuple):
    """A topic that is to be made."""

    name: str
    replicas: Sequence[tuple[int, ...]]
    """Of each partition, the preferred leader first."""
    configs: Mapping[str, str]

    @classmethod
    def of(
        cls, topic: CoordinatorTopic, coordinators: Iterable[Coordinator], others: Mapping[int, str], random: Random
    ) -> Self | None:
        """Spread it over brokers as the first of them would make it; None where none of them knows such a topic.

        `others` says why no further brokers can have it. Raises TooFewCoordinatorsError.
        """
        brokers = sorted(coordinators)
        model = next((each for each in brokers if topic.settings[0] in each.settings), None)
        if model is None:
            return None
        factor = model.number(topic.replication_factor)
        if factor > len(brokers):
            ids = [each.id for each in brokers]
            raise TooFewCoordinatorsError(
                topic.name, topic.replication_factor, factor, of=model.id, coordinators=ids, others=others
            )
        usable = [UsableBroker(each.id, each.rack, fenced=False) for each in brokers]
        described = {name: model.settings[setting] for name, setting in topic.described.items()}
        return cls(
            topic.name,
            place_replicas(usable, model.number(topic.partitions), factor, random),
            {**topic.configs, **described},
        )
