"""The cluster in which some rounds of chaos happen: drawn from a seed, as they are."""

from dataclasses import dataclass
from random import Random
from typing import Final, Self

_BROKERS: Final = 4
_FORGETFUL: Final = 0.5
"""The share of lives in which ours lose what they have not flushed."""
_OLDER_TRANSACTIONS: Final = 0.4
"""The share in which coordinators add partitions for all producers: transaction.version 1."""
_TWO_OF_OURS: Final = 0.4


@dataclass(frozen=True, slots=True)
class Life:
    """What a cluster is as long as it lives."""

    is_forgetful: bool
    transaction_version: int
    ours: tuple[int, ...]
    """The ids of our brokers, beside so many of Kafka's that there are four."""

    @classmethod
    def draw(cls, random: Random) -> Self:
        """Draw one."""
        is_forgetful = random.random() < _FORGETFUL
        transaction_version = 1 if random.random() < _OLDER_TRANSACTIONS else 2
        return cls(is_forgetful, transaction_version, (9, 10) if random.random() < _TWO_OF_OURS else (9,))

    @property
    def kafkas(self) -> int:
        """How many brokers are Kafka's."""
        return _BROKERS - len(self.ours)

    def __str__(self) -> str:
        forgets = "; ours can lose what they have not flushed" if self.is_forgetful else ""
        return f"{self.kafkas} of Kafka's, ours {self.ours}, transaction.version {self.transaction_version}{forgets}"
