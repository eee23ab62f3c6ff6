"""How leaders are chosen in a read-only cluster."""

from enum import StrEnum


class LeaderChoice(StrEnum):
    """How a leader is chosen."""

    METADATA = "metadata"
    """Who leads by the cluster's metadata; as ADVISE where that is not known, or where that broker has no copy here."""
    ADVISE = "advise"
    """The copy with the latest leader epoch, and of these the longest one, as `epochlog advise` recommends."""
