"""Two copies of one partition, compared by digests first and only where those differ by bytes."""

from dataclasses import dataclass

from replication.audit.copy_summary import OffsetRange
from replication.audit.examined_copy import ExaminedCopy


@dataclass(frozen=True, slots=True)
class Fork:
    """The first offset that two leaders wrote: the left copy has one's record there, the right copy the other's."""

    offset: int
    left_epoch: int
    right_epoch: int


@dataclass(frozen=True, slots=True)
class Divergence:
    """Records under the same offsets and of the same leader epoch that are not the same."""

    first_offset: int
    last_offset: int
    leader_epoch: int
    left_file: str
    left_position: int
    right_file: str
    right_position: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the left copy's log differs from the right one's, within the offsets that both should have."""

    left: str
    right: str
    first_difference: int | None
    """The first offset that differs, whatever the reason."""
    fork: Fork | None
    divergences: tuple[Divergence, ...]
    """Before any fork."""
    missing_left: tuple[OffsetRange, ...]
    """Offsets that only the right copy has, and that the cleaner cannot have removed."""
    missing_right: tuple[OffsetRange, ...]
    compacted_differently: bool
    """Whether the cleaner removed records from one copy that the other still has, as it may."""
    ranges: int
    """Ranges of offsets that both have something in."""
    ranges_read: int
    """Those of them that had to be read again."""
    batches_read: int
    """On both sides together, as are the bytes."""
    bytes_read: int


def compare(left: ExaminedCopy, right: ExaminedCopy) -> Comparison:
    """Compare two copies. Raises OSError where bytes that have to be read again cannot be."""
    raise NotImplementedError
