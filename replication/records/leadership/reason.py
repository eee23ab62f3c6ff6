"""Why a controller elects a replica."""

from enum import StrEnum


class Reason(StrEnum):
    """Why a replica is elected."""

    IN_SYNC = "in sync"
    """It is in the ISR."""
    ELIGIBLE = "eligible"
    """Nobody is in the ISR, and it is in the ELR (KIP-966)."""
    LAST_KNOWN_LEADER = "last known leader"
    """Nobody is in the ISR or the ELR, and it led last: an unclean election, which no setting forbids (KIP-966)."""
    UNCLEAN = "unclean"
    """It is the first live replica of the assignment, and unclean elections are allowed."""
    NOBODY = "nobody"
    """No live replica may lead."""
