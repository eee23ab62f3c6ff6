"""Copies that the cleaner has been over, compared by what each key says last."""

from collections.abc import Sequence
from dataclasses import dataclass

from replication.audit.batch_reader import BatchReader
from replication.audit.divergence import Divergence


@dataclass(frozen=True, slots=True)
class CompactedComparison:
    """What the cleaner does not explain of the differences between two copies."""

    divergences: Sequence[Divergence]
    missing_left: Sequence[int]
    """Offsets of records that are the latest of their key, or a deletion of an older one, and that are not there."""
    missing_right: Sequence[int]


def compare_compacted(readers: tuple[BatchReader, BatchReader], first: int, end: int) -> CompactedComparison:
    """Compare the records from offset `first` on and below `end`. Raises CopyUnreadableError."""
    raise NotImplementedError
