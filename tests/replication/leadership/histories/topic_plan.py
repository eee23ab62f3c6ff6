"""A topic of a history: where its replicas are, and the settings that count in elections."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, Self

from logstore import TopicPartition

_BROKERS: Final = (1, 2, 3)


@dataclass(frozen=True)
class TopicPlan:
    """Three partitions, each on brokers of its own, in an order of its own."""

    name: str
    replicas: tuple[tuple[int, ...], ...]
    min_isr: int
    allows_unclean: bool

    @classmethod
    def at_random(cls, name: str, random: Random, partitions: int = 3) -> Self:
        """Choose everything but the name."""
        factor = random.choice((2, 3))
        replicas = tuple(tuple(random.sample(_BROKERS, factor)) for _ in range(partitions))
        return cls(name, replicas, random.choice((1, 2)), random.random() < 1 / 3)

    @property
    def settings(self) -> Mapping[str, str]:
        """The topic's own settings."""
        allowed = str(self.allows_unclean).lower()
        return {"min.insync.replicas": str(self.min_isr), "unclean.leader.election.enable": allowed}

    def __iter__(self) -> Iterator[TopicPartition]:
        return (TopicPartition(self.name, number) for number in range(len(self.replicas)))
