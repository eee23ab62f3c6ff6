"""What a group is doing."""

from enum import StrEnum


class GroupState(StrEnum):
    """By the names in answers (Kafka: ClassicGroupState)."""

    EMPTY = "Empty"
    """It has no members."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """It waits for its members to join."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """It waits for its leader to assign partitions."""
    STABLE = "Stable"
    """Each member has its assignment."""
    DEAD = "Dead"
    """There is no such group."""
