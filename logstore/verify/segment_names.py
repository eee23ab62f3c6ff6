"""Segments whose files were renamed: the cause is reported once, and the rest is checked under the right names."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logstore.batch.batch import RecordBatch
from logstore.batch.layout import LENGTH_AT
from logstore.errors import LogStoreError
from logstore.file_name import INDEX_KINDS, FileKind
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from logstore.verify.finding import Finding, Reporter

ADVICE: Final = (
    "Kafka finds no record by offset in it; stop the broker and give its files their names back, or take the partition "
    "from another replica"
)


@dataclass(frozen=True, slots=True)
class NamedSegments:
    """A partition's segments under the base offsets that they have by their content."""

    segments: list[Segment]
    findings: list[Finding]

    @classmethod
    def of(cls, partition: PartitionDirectory, report: Reporter) -> "NamedSegments":
        """Look at each segment's first batches and at its index, and at indexes that belong to no segment."""
        orphans = _orphans(partition)
        segments, findings = [], []
        for segment in partition.segments:
            believed = _believed(segment, orphans)
            segments.append(believed)
            if believed is not segment:
                findings.append(_describe(segment, believed, report))
        return cls(sorted(segments, key=lambda each: each.base_offset), findings)


def _orphans(partition: PartitionDirectory) -> dict[int, dict[FileKind, Path]]:
    bases = {segment.base_offset for segment in partition.segments}
    orphans: dict[int, dict[FileKind, Path]] = {}
    for kind in INDEX_KINDS:
        for name, path in partition.named(kind):
            if name.base_offset is not None and name.base_offset not in bases:
                orphans.setdefault(name.base_offset, {})[kind] = path
    return orphans


def _believed(segment: Segment, orphans: dict[int, dict[FileKind, Path]]) -> Segment:
    try:
        if not segment.is_file or _begins_as_named(segment):
            return segment
        with LogFile.open(segment.log_path) as log:
            first = _first_offset(log)
            if first is None or first == segment.base_offset:
                return segment
            has_own_indexes = any(kind in segment.files for kind in INDEX_KINDS)
            if not has_own_indexes and first in orphans:
                return Segment(first, {**orphans.pop(first), FileKind.LOG: segment.log_path})
            base = _base_by_index(segment, log, first) if has_own_indexes else None
    except OSError:
        return segment
    if first < segment.base_offset:
        return Segment(first if base is None else min(base, first), segment.files)
    if base is not None and segment.base_offset < base <= first:
        return Segment(base, segment.files)
    return segment


def _begins_as_named(segment: Segment) -> bool:
    """Whether the first batch has the offset of the name, sound or not: of nearly all, no more need be read."""
    with open(segment.log_path, "rb", buffering=0) as file:
        return file.read(LENGTH_AT) == segment.base_offset.to_bytes(LENGTH_AT)


def _first_offset(log: LogFile) -> int | None:
    """Return the offset of the first batch, if the second goes on after it: the field itself is not checksummed."""
    try:
        first = next(batches := log.batches(), None)
        if not isinstance(first, RecordBatch) or not first.is_valid():
            return None
        second = next(batches, None)
        # To know where a compressed set of an old format begins takes decompressing it.
        goes_on = second is None or second.base_offset > first.last_offset
    except LogStoreError:
        return None
    return first.base_offset if goes_on else None


def _base_by_index(segment: Segment, log: LogFile, first: int) -> int | None:
    """Return the base offset that the index was made with, if two of its entries, or one and the batches, show it."""
    try:
        index = segment.offset_index()
        if index is None or not len(index):
            return None
        bases = {_base_by_entry(segment, log, *entry) for entry in (index[0], index[-1])}
    except (LogStoreError, OSError):
        return None
    base = bases.pop()
    return base if not bases and (len(index) > 1 or base == first) else None


def _base_by_entry(segment: Segment, log: LogFile, last_offset: int, position: int) -> int:
    batch = next(log.batches(position), None) if position >= 0 else None
    if batch is None:
        return -1
    return int(batch.last_offset) - (last_offset - segment.base_offset)


def _describe(segment: Segment, believed: Segment, report: Reporter) -> Finding:
    below = believed.base_offset < segment.base_offset
    return report.error(
        "batch-below-segment" if below else "segment-name-wrong",
        f"by its batches or its index the segment begins at {believed.base_offset}, and at {segment.base_offset} by "
        f"its name: the file was renamed, or is another partition's; {ADVICE}",
        file=segment.log_path.name,
        position=0,
        offset=believed.base_offset,
    )
