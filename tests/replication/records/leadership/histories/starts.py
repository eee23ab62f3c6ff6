"""In which order a cluster that is down starts again."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Final, Self

_MISSING: Final = 0.2
"""How often a broker stays dead."""


@dataclass(frozen=True)
class Starts:
    """All at once with the controller; or the controller, once it has given up all brokers one after another."""

    order: tuple[int, ...]
    together: bool

    @classmethod
    def at_random(cls, brokers: Sequence[int], random: Random) -> Self:
        """Choose who starts, in which order."""
        count = len(brokers) - (random.random() < _MISSING)
        return cls(random.choice([*permutations(brokers, count)]), random.random() < 1 / 2)

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.order))} {'together' if self.together else 'one after the other'}"
