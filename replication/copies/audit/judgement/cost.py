"""By what leaders are ranked: the same for who should lead a partition, and for the order in which brokers start."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self


class Cost(NamedTuple):
    """Records that are lost under a leader; the smaller cost is better.

    The fields are ranked in this order: one acknowledged record outweighs any number that nobody was promised.
    """

    acknowledged: int = 0
    """Those that are known to have been acknowledged."""
    maybe: int = 0
    """Those of which nothing shows whether they were."""
    records: int = 0
    """All."""

    def plus(self, other: "Cost") -> "Cost":
        """Add what is lost elsewhere."""
        return Cost(*(one + another for one, another in zip(self, other, strict=True)))

    @classmethod
    def of(cls, candidate: Mapping[str, Any]) -> Self:
        """Create it from a candidate, whose losses are known, as `epochlog audit --json` prints it."""
        return cls(*(candidate[part]["records"] for part in ("acknowledged", "maybe_acknowledged", "lost")))
