"""One pass over a copy of a partition that tells all there is to tell of it alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from logstore.partition_directory import PartitionDirectory
from replication.audit.copy_summary import CopySummary
from replication.audit.range_digests import RangeDigests
from replication.audit.replica_finding import ReplicaFinding


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One segment of one copy. Offsets are of the batches that can be read, -1 where there are none."""

    replica: str
    topic: str
    partition: int
    base_offset: int
    file: str
    bytes: int
    batches: int
    records: int
    first_offset: int
    last_offset: int
    min_timestamp: int
    """Milliseconds since 1970 UTC, of batches' base timestamps; -1 where there are none."""
    max_timestamp: int
    corrupt_batches: int


@dataclass(frozen=True, slots=True)
class EpochRow:
    """One leader epoch of one copy: what the checkpoint says and what the batches carry; None where one is silent."""

    replica: str
    topic: str
    partition: int
    epoch: int
    checkpoint_start_offset: int | None
    first_offset: int | None
    last_offset: int | None
    batches: int


@dataclass(frozen=True, slots=True)
class Examination:
    """All that was found in one copy."""

    summary: CopySummary
    digests: RangeDigests
    findings: tuple[ReplicaFinding, ...]
    segments: tuple[SegmentRow, ...]
    epochs: tuple[EpochRow, ...]


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A part of a segment: the batches that begin from byte `start` on and before `end`."""

    base_offset: int
    """The segment's."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PieceExamination:
    """What the bytes of a part of a copy tell, without what only the whole can."""

    digests: RangeDigests
    corrupt: tuple[tuple[int, int], ...]
    """Batches whose checksum does not hold: their segment's base offset, and their position in its file."""
    findings: tuple[ReplicaFinding, ...]
    """About records."""


def examine(
    partition: PartitionDirectory,
    replica: str,
    *,
    records: bool = False,
    progress: Callable[[int], None] = lambda _bytes: None,
) -> Examination:
    """Read a copy once. With `records` every record is decoded; `progress` is told the bytes that were read.

    Damage is what is found, never an error that is raised; only PartitionVanishedError, where the directory is gone by
    the end.
    """
    raise NotImplementedError


def examine_piece(
    partition: PartitionDirectory,
    replica: str,
    ranges: Sequence[ByteRange],
    *,
    records: bool = False,
    progress: Callable[[int], None] = lambda _bytes: None,
) -> PieceExamination:
    """Read parts of a copy, for which only their segments' `.log` files need be there.

    The first batch of a part is found by a walk over the headers before it.
    """
    raise NotImplementedError


def examine_lineage(partition: PartitionDirectory, replica: str, pieces: Sequence[PieceExamination]) -> Examination:
    """Finish the examination of a copy whose parts, taken together, were all read: only headers are read again."""
    raise NotImplementedError
