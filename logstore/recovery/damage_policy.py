"""What becomes of a log that is found damaged as it is opened."""

from enum import Enum
from typing import Literal, TypeAlias

from logstore.arguments import ensure_bool

Damage: TypeAlias = Literal["raise", "hole", "cut"]
"""What to do about damage below the recovery point of a log that is the only copy."""


class DamagePolicy(Enum):
    """Whether records that were promised may be given up, and how that is told."""

    RAISE = "raise"
    """Refuse to open the log, and change nothing."""
    HOLE = "hole"
    """Set the damaged bytes aside; everything behind them stays where it is."""
    CUT = "cut"
    """End the log at the first damage; what is cut off is set aside."""
    REPLICATED = "replicated"
    """End the log at the first damage, as Kafka does: other replicas have what is lost."""

    @classmethod
    def of(cls, damage: Damage, *, replicated: bool) -> "DamagePolicy":
        """Take what `Log.open` is given. Raises ValueError for other words, TypeError for what does not go together."""
        ensure_bool(replicated, "replicated")
        words: dict[object, DamagePolicy] = {policy.value: policy for policy in (cls.RAISE, cls.HOLE, cls.CUT)}
        if damage not in words:
            raise ValueError(f'damage is {damage!r}: pass "raise", "hole" or "cut"')
        if not replicated:
            return words[damage]
        if damage != "raise":
            raise TypeError(
                f"damage={damage!r} cannot be given with replicated=True, by which a log ends at the first damage"
            )
        return cls.REPLICATED
