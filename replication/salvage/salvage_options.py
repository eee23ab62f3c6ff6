"""What is salvaged where the files do not decide it."""

from dataclasses import dataclass

from replication.salvage.conflict_rule import ConflictRule


@dataclass(frozen=True, slots=True)
class SalvageOptions:
    """What is salvaged where it is not clear."""

    conflicts: ConflictRule = ConflictRule.LIST
    by_key_and_value: bool = False
    """Whether a record counts as sent again, too, where the kept copy has an equal key and value."""
    compacted: frozenset[str] = frozenset()
    """Topics of which only each key's last value counts, beside those that a broker has compacted."""
