"""The records on which two copies disagree: what a comparison reports by its offsets, read again one by one."""

from collections.abc import Iterator
from enum import StrEnum
from heapq import merge
from operator import itemgetter
from typing import NamedTuple

from logstore.batch.any_batch import Batch
from logstore.batch.record import Record
from logstore.errors import LogStoreError
from logstore.offline.log_file import LogFile
from replication.copies.audit.comparison.batch_differences import without
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.copy_summary import OffsetRange, SegmentExtent, merged


class DifferenceKind(StrEnum):
    """Why two copies disagree on a record: the words of the audit's verdicts."""

    FORKED = "forked"
    SILENT_DIVERGENCE = "silent-divergence"
    MISSING = "missing"


class Disagreement(NamedTuple):
    """Offsets, the last one included, within which two copies disagree."""

    kind: DifferenceKind
    first: int
    last: int


class HeldRecord(NamedTuple):
    """A record as one copy has it."""

    record: Record
    leader_epoch: int


class RecordDifference(NamedTuple):
    """One offset on which two copies disagree; None for a copy that has no record there, or none that can be read."""

    kind: DifferenceKind
    offset: int
    left: HeldRecord | None
    right: HeldRecord | None


def disagreements(comparison: Comparison, left: ExaminedCopy, right: ExaminedCopy) -> Iterator[Disagreement]:
    """Name the offsets to look at: from a fork on to the longer log's end, divergences, and what one copy lacks.

    Where a copy was not read, there is nothing to compare.
    """
    for each in comparison.divergences:
        yield Disagreement(DifferenceKind.SILENT_DIVERGENCE, each.first_offset, each.last_offset)
    for missing in (*comparison.missing_left, *comparison.missing_right):
        yield Disagreement(DifferenceKind.MISSING, *missing)
    if comparison.fork:
        end = max(left.summary.readable_end_offset, right.summary.readable_end_offset)
        unread = merged([*left.summary.unread_offsets, *right.summary.unread_offsets])
        for known in without([OffsetRange(comparison.fork.offset, end - 1)], unread):
            yield Disagreement(DifferenceKind.FORKED, *known)


def record_differences(where: Disagreement, left: ExaminedCopy, right: ExaminedCopy) -> Iterator[RecordDifference]:
    """Read the records there in both copies, and give those that only one has, or that are not the same.

    Raises CopyUnreadableError.
    """
    sides = (_held(side, copy, where) for side, copy in enumerate((left, right)))
    waiting: dict[int, HeldRecord | None] = {}
    reached = -1
    for offset, side, held in merge(*sides, key=itemgetter(0)):
        if offset != reached and waiting:
            yield from _difference(where.kind, reached, waiting)
            waiting = {}
        reached = offset
        waiting[side] = held
    if waiting:
        yield from _difference(where.kind, reached, waiting)


def _difference(kind: DifferenceKind, offset: int, held: dict[int, HeldRecord | None]) -> Iterator[RecordDifference]:
    left, right = held.get(0), held.get(1)
    if left != right:
        yield RecordDifference(kind, offset, left, right)


def _held(side: int, copy: ExaminedCopy, where: Disagreement) -> Iterator[tuple[int, int, HeldRecord]]:
    """Read the records of one side, each with its offset and the side."""
    files = [extent.file for extent in _extents(copy, OffsetRange(where.first, where.last))]
    with copy.logs(files) as directory:
        for file in files:
            with LogFile.open(directory / file) as log:
                for held in _records(log, where):
                    yield held.record.offset, side, held


def _extents(copy: ExaminedCopy, wanted: OffsetRange) -> Iterator[SegmentExtent]:
    """Pick the segments that may hold some of the offsets, by their names."""
    segments = copy.summary.segments
    for number, segment in enumerate(segments, 1):
        next_base = segments[number].base_offset if number < len(segments) else wanted.last + 1
        if segment.base_offset <= wanted.last and next_base > wanted.first:
            yield segment


def _records(log: LogFile, where: Disagreement) -> Iterator[HeldRecord]:
    """Decode the sound batches there, up to what is no batch."""
    try:
        for batch in log.batches():
            if batch.last_offset >= where.first and batch.base_offset <= where.last:
                yield from _of_batch(batch, where)
    except LogStoreError:
        return


def _of_batch(batch: Batch, where: Disagreement) -> Iterator[HeldRecord]:
    """Give the records there, up to one that cannot be read."""
    try:
        for record in batch.records() if batch.is_valid() else ():
            if where.first <= record.offset <= where.last:
                yield HeldRecord(record, batch.leader_epoch)
    except LogStoreError:
        return
