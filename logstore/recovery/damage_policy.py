"""What becomes of a log that is found damaged as it is opened."""

from enum import Enum
from typing import Literal, TypeAlias

from logstore.arguments import ensure_bool

Damage: TypeAlias = Literal["raise", "hole", "cut", "hold"]
"""What to do about damage below the recovery point: "hold" is for replicated logs, "hole" for those that are not."""


class DamagePolicy(Enum):
    """Whether records that were promised may be given up, and how that is reported."""

    RAISE = "raise"
    """Refuse to open the log, and change nothing."""
    HOLE = "hole"
    """Set the damaged bytes aside; everything behind them stays where it is."""
    CUT = "cut"
    """End the log at the first damage; what is cut off is set aside."""
    REPLICATED = "replicated"
    """End the log at the first damage, as Kafka does: other replicas have what is lost."""
    HELD = "hold"
    """The same, but of a log that is damaged below its recovery point: that is refused, and nothing is changed."""
    ASIDE = "aside"
    """End the log at the first damage; what is cut off is set aside, though other replicas have it."""

    @classmethod
    def of(cls, damage: Damage, *, replicated: bool) -> "DamagePolicy":
        """Create a policy from `Log.open`'s arguments. Raises ValueError for other words, TypeError for a wrong mix."""
        ensure_bool(replicated, "replicated")
        known = {"raise", "hole", "cut", "hold"}
        if damage not in known:
            raise ValueError(f'damage is {damage!r}: pass "raise", "hole" or "cut"')
        words: dict[str, DamagePolicy] = {"raise": cls.RAISE, "hole": cls.HOLE, "cut": cls.CUT}
        if replicated:
            words = {"raise": cls.REPLICATED, "hold": cls.HELD, "cut": cls.ASIDE}
        if damage not in words:
            kind = "by which a log ends at the first damage" if replicated else "as others have no copy of it"
            raise TypeError(f"damage={damage!r} cannot be given with replicated={replicated}, {kind}")
        return words[damage]

    @property
    def is_replicated(self) -> bool:
        """Whether other nodes have copies of the log."""
        return self in {DamagePolicy.REPLICATED, DamagePolicy.HELD, DamagePolicy.ASIDE}

    @property
    def keeps_promises(self) -> bool:
        """Whether nothing that was promised is given up before anybody has said so."""
        return self is not DamagePolicy.REPLICATED
