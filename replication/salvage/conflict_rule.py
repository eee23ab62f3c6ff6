"""What is done about keys that were written on both sides of a fork."""

from enum import StrEnum


class ConflictRule(StrEnum):
    """Which value of a key that was written on both sides is salvaged."""

    LIST = "list"
    """None: somebody has to decide."""
    NEWEST = "newest"
    """The losing side's last one, if it is newer by its timestamp than the other side's."""
    LOSING = "losing"
    """The losing side's last one."""
    BOTH = "both"
    """Everything that the losing side has of it."""
