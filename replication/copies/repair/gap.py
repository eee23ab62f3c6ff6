"""Where a log is not whole: bytes that are no sound batch in its order, or offsets that no batch has."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from logstore.file_name import FileFate, FileKind
from replication.copies.repair.scanned_copy import ScannedCopy


class Region(NamedTuple):
    """Bytes of a segment's log, by the number of the segment; the end is left out."""

    segment: int
    start: int
    end: int


class Gap(NamedTuple):
    """What lies between two sound batches that should follow one another, or at an end of the log."""

    row: int
    """Of the sound batch that follows; there is none at the log's end."""
    start: int
    """The first offset that no sound batch has."""
    end: int | None
    """The base offset of the batch that follows; None at the log's end."""
    regions: tuple[Region, ...]
    """The bytes that stand there, some of each segment."""

    @property
    def bytes(self) -> int:
        """How many those are."""
        return sum(region.end - region.start for region in self.regions)


def find_gaps(copy: ScannedCopy, *, is_compacted: bool, has_remote: bool = False) -> Iterator[Gap]:
    """Find where a copy is not whole, in order; in a topic that `is_compacted`, holes without bytes are no gaps.

    Where it `has_remote` storage, that has what lies below the first segment.
    The last one is at the log's end, and only says what stands there.
    """
    rows, starts = copy.rows, np.array(copy.starts)
    begins = starts[rows.segment] + rows.position
    ends = np.concatenate([[0], begins + rows.size])
    first = min(copy.bases, default=0) if has_remote else first_offset(copy)
    offsets = np.concatenate([[first], rows.last_offset + 1])
    is_gap = begins > ends[:-1]
    if not is_compacted:
        is_gap |= rows.base_offset > offsets[:-1]
    for row in np.flatnonzero(is_gap).tolist():
        regions = tuple(Region(*each) for each in copy.split(int(ends[row]), int(begins[row])))
        start, end = int(offsets[row]), int(rows.base_offset[row])
        yield Gap(row, min(start, end), end, regions)
    regions = tuple(Region(*each) for each in copy.split(int(ends[-1]), copy.starts[-1]))
    yield Gap(len(rows), int(offsets[-1]), None, regions)


def first_offset(copy: ScannedCopy) -> int:
    """Return where the log begins: by its files' names, by its leader epochs, and by its first batch."""
    partition, history = copy.partition, copy.checkpoint
    named = [*copy.bases, *copy.bases_without_log()]
    if history and history.earliest and not any(partition.named(FileKind.LOG, FileFate.DELETED)):
        # Whoever deletes segments moves the first epoch's start too.
        named.append(history.earliest.start_offset)
    recorded = partition.checkpoints.log_start_offset
    if recorded is not None and partition.own_checkpoints is None and named and not _is_deleting_below(copy):
        named.append(recorded)  # a broker writes that of a log whose beginning is in remote storage, too
    if len(copy.rows):
        named.append(int(copy.rows.base_offset[0]))
    return min(named, default=partition.checkpoints.log_start_offset or 0)


def _is_deleting_below(copy: ScannedCopy) -> bool:
    """Whether the broker was just deleting the oldest segments: it records the new start a while later."""
    first = min(copy.bases, default=0)
    return any((name.base_offset or 0) < first for name, _ in copy.partition.named(FileKind.LOG, FileFate.DELETED))
