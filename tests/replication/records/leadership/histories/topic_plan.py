"""A topic of a history: where its replicas are, and the settings that count in elections."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Self

from logstore import TopicPartition

_PARTITIONS: Final = 3


@dataclass(frozen=True)
class TopicPlan:
    """Three partitions, each on brokers of its own, in an order of its own."""

    name: str
    replicas: tuple[tuple[int, ...], ...]
    min_isr: int
    allows_unclean: bool

    @classmethod
    def at_random(cls, name: str, brokers: Sequence[int], random: Random) -> Self:
        """Choose where the replicas are, and the settings."""
        factor = random.randint(2, len(brokers))
        replicas = tuple(tuple(random.sample(brokers, factor)) for _ in range(_PARTITIONS))
        return cls(name, replicas, random.choice((1, 2)), random.random() < 1 / 3)

    @property
    def settings(self) -> Mapping[str, str]:
        """The topic's own settings."""
        allowed = str(self.allows_unclean).lower()
        return {"min.insync.replicas": str(self.min_isr), "unclean.leader.election.enable": allowed}

    def __iter__(self) -> Iterator[TopicPartition]:
        return (TopicPartition(self.name, number) for number in range(len(self.replicas)))
