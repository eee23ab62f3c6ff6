"""What is salvaged where the files do not decide it."""

from dataclasses import dataclass
from enum import StrEnum


class ConflictRule(StrEnum):
    """What is salvaged of a key that two copies wrote after they diverged; of a transaction all, or nothing."""

    LIST = "list"
    """Nothing: somebody has to decide."""
    NEWEST = "newest"
    """The losing side's last value, if it is newer by its timestamp than the other side's."""
    LOSING = "losing"
    """The losing side's last value."""
    BOTH = "both"
    """Everything that the losing side has of it."""


@dataclass(frozen=True, slots=True)
class SalvageOptions:
    """What is salvaged where it is not clear."""

    conflicts: ConflictRule = ConflictRule.LIST
    by_key_and_value: bool = False
    """Whether a record counts as sent again, too, where the kept copy has an equal key and value."""
    compacted: frozenset[str] = frozenset()
    """Topics of which only each key's last value counts, beside those that a broker has compacted."""
