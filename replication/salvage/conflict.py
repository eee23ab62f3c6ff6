"""A key that two copies wrote after they diverged, and what becomes of it."""

from dataclasses import dataclass

from replication.salvage.columns.key_write import KeyWrite
from replication.salvage.salvage_options import ConflictRule


@dataclass(slots=True)
class Conflict:
    """A key of one partition, with the last write of a losing copy and of one that diverges from it."""

    key: bytes
    losing: KeyWrite
    other: KeyWrite
    """The kept copy's, or that of another losing copy where the kept one has not written the key."""
    records: int = 0
    """Of the losing side."""
    salvaged: int = 0
    """How many of them are salvaged."""


def wins(losing: KeyWrite, others: list[KeyWrite], kept: str, rule: ConflictRule) -> bool:
    """Tell whether the losing side's last write is salvaged, beside those of the others."""
    match rule:
        case ConflictRule.LIST:
            return False
        case ConflictRule.BOTH:
            return True
        case ConflictRule.NEWEST:
            return all(_is_newer(losing, other, kept) for other in others)
        case ConflictRule.LOSING:
            return all(other.source == kept or _is_newer(losing, other, kept) for other in others)


def _is_newer(losing: KeyWrite, other: KeyWrite, kept: str) -> bool:
    if losing.timestamp != other.timestamp or other.source == kept:
        return losing.timestamp > other.timestamp
    return (losing.leader_epoch, losing.offset) > (other.leader_epoch, other.offset)
