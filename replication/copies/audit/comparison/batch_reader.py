"""Reads the batches of a copy again, where digests say that they differ from another copy's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from epoch.history import MAX_OFFSET
from logstore.batch.columns import BatchColumns
from logstore.file_name import FileKind
from logstore.offline.log_file import LogFile
from logstore.offline.segment import Segment
from logstore.verify import Finding
from logstore.verify.finding import UNREADABLE, Reporter
from logstore.verify.log_pass import Check, Chunk, LogPass, Scan, SilentCheck
from replication.base.errors import CopyUnreadableError
from replication.copies.audit.comparison.batch_differences import without
from replication.copies.audit.comparison.batch_rows import COMPARED, ROW, Batches, ranges_of, rows_of_batches
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.copy_summary import OffsetRange, SegmentExtent, merged
from replication.copies.audit.examination.range_digests import RANGE_BITS, RangeDigests

READ_AT_ONCE: Final = 1 << 30
"""Bytes of a copy that are opened together where all of it is read."""


@dataclass(slots=True)
class BatchReader:
    """Reads batches of one copy by their offsets, and counts what it reads."""

    copy: ExaminedCopy
    batches_read: int = 0
    bytes_read: int = 0

    def read(self, first: int, end: int) -> Batches:
        """Return the batches whose base offset is from `first` on and below `end`, by offset, each once.

        Raises CopyUnreadableError.
        """
        rows = self._read(first, end)
        self.batches_read += len(rows)
        self.bytes_read += int(rows["size"].sum())
        return _ordered(rows)

    def ranges_with(self, wanted: Sequence[OffsetRange]) -> set[int]:
        """Return the numbers of the digests' ranges in which a batch begins that has some of the offsets."""
        rows = self.copy.digests.rows
        chosen = np.zeros(len(rows), np.bool_)
        highest = int(rows["last_offset"].max()) if len(rows) else -1
        for first, last in wanted:
            if first > highest:
                continue
            chosen |= (rows["last_offset"] >= first) & (rows["first_offset"] <= last)
        return set(rows["range"][chosen].tolist())

    def next_offset(self, end: int) -> int:
        """Return the first offset in the digests' ranges from `end` on, and the largest one where there is none."""
        rows = self.copy.digests.rows
        behind = rows["first_offset"][rows["range"] >= end >> RANGE_BITS]
        return int(behind.min()) if len(behind) else MAX_OFFSET

    def read_all(self, check: Check) -> None:
        """Show the whole log to a check, some segments at a time. Raises CopyUnreadableError."""
        for numbers in self._groups():
            self._make_pass(numbers, check, LogFile.scan)
        self.batches_read += self.copy.summary.batches
        self.bytes_read += self.copy.summary.log_bytes

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each segment by its file's name."""
        return {segment.file: number for number, segment in enumerate(self.copy.summary.segments)}

    def file(self, number: int) -> str:
        """Name the segment with this number."""
        return self.copy.summary.segments[number].file

    def _groups(self) -> Iterator[Sequence[int]]:
        """Group the segments: a copy that is elsewhere is fetched to be read, and may be larger than the disk here."""
        start, size = 0, 0
        for number, segment in enumerate(self.copy.summary.segments):
            if size and size + segment.size > READ_AT_ONCE:
                yield range(start, number)
                start, size = number, 0
            size += segment.size
        yield range(start, len(self.copy.summary.segments))

    def _holding(self, first: int, end: int) -> Sequence[int]:
        bases = np.array([segment.base_offset for segment in self.copy.summary.segments], np.int64)
        start = max(int(np.searchsorted(bases, first, "right")) - 1, 0)
        return range(start, int(np.searchsorted(bases, end)))

    def _read(self, first: int, end: int) -> Batches:
        """Read once. Raises CopyUnreadableError, also for other batches than were examined."""
        summary, ranges = self.copy.summary, _whole_ranges(first, end)
        known = _of_ranges(self.copy.digests, *ranges)
        collected = self._collect(self._holding(*ranges), first, end)
        if not np.array_equal(known, collected.digests.rows):
            # Batches that stand where their offsets do not belong.
            collected = self._collect(range(len(summary.segments)), first, end)
        rows = self._believed(collected)
        corrupt = [*without(ranges_of(rows[rows["is_corrupt"]]), merged(summary.corrupt))]
        if corrupt or not np.array_equal(known, collected.digests.rows):
            error = OSError(f"from offset {first} on it has other batches than when it was examined")
            raise CopyUnreadableError(self.copy.replica, summary.topic_partition, error)
        return rows

    def _collect(self, numbers: Sequence[int], first: int, end: int) -> "_Collected":
        collected = _Collected(first, end, self.numbers)
        self._make_pass(numbers, collected, collected.scan)
        return collected

    def _believed(self, found: "_Collected") -> Batches:
        rows = np.concatenate(found.parts) if found.parts else np.empty(0, ROW)
        for misfit in self.copy.summary.misfit_epochs:
            for name in ("is_sound", "is_corrupt"):
                rows[name] &= (rows["base_offset"] > misfit.last) | (rows["last_offset"] < misfit.first)
        return rows

    def _make_pass(self, numbers: Sequence[int], check: Check, scan: Scan) -> None:
        summary = self.copy.summary
        extents = [summary.segments[number] for number in numbers]
        extents = [extent for extent in extents if extent.file not in summary.unread_files]
        with self.copy.logs([extent.file for extent in extents]) as directory:
            segments = [Segment(extent.base_offset, {FileKind.LOG: directory / extent.file}) for extent in extents]
            for segment, extent in zip(segments, extents, strict=True):
                _ensure_as_examined(segment, extent)
            for finding in LogPass(segments, [check], Reporter(None), scan=scan).run():
                if finding.kind == UNREADABLE:  # damage was reported when the copy was examined
                    raise OSError(f"{finding.file}: {finding.message}")


def _ensure_as_examined(segment: Segment, extent: SegmentExtent) -> None:
    """Raise OSError where a file is gone, or has other bytes than were examined, which the pass would not show."""
    if segment.size != extent.size:
        raise OSError(f"{segment.log_path} has {segment.size:,} bytes, {extent.size:,} when it was examined")


@dataclass(slots=True)
class _Collected(SilentCheck):
    """Keeps the batches with base offsets from `first` on and below `until`; only their checksums are computed."""

    first: int
    until: int
    numbers: dict[str, int]
    parts: list[Batches] = field(default_factory=list)
    digests: RangeDigests = field(default_factory=RangeDigests)
    """Of all batches in the digests' ranges that have a part in what is kept: only whole ones count."""

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        rows = rows_of_batches(chunk.columns, self._chosen(chunk.columns))
        start, end = _whole_ranges(self.first, self.until)
        in_ranges = (chunk.columns.base_offset >= start) & (chunk.columns.base_offset < end)
        if in_ranges.any():
            self.digests.add(chunk.columns.where(in_ranges))
        rows["segment"] = self.numbers[chunk.segment.log_path.name]
        self.parts.append(rows)
        yield from ()

    def scan(self, log: LogFile, position: int) -> Iterator[BatchColumns]:
        """Read headers, and check the checksums of those batches that count."""
        for columns in log.scan(position, check_crc=False):
            chosen = self._chosen(columns)
            yield _checked(log, columns, chosen) if len(chosen) else columns

    def _chosen(self, columns: BatchColumns) -> NDArray[np.int64]:
        return np.flatnonzero((columns.base_offset >= self.first) & (columns.base_offset < self.until))


def _whole_ranges(first: int, end: int) -> tuple[int, int]:
    """Return where the first of the digests' ranges begins that offsets have a part in, and where the last ends."""
    return first >> RANGE_BITS << RANGE_BITS, min(-(-end >> RANGE_BITS) << RANGE_BITS, MAX_OFFSET)


def _of_ranges(digests: RangeDigests, start: int, end: int) -> NDArray[np.void]:
    rows = digests.rows
    begins = rows["range"] << RANGE_BITS
    return rows[(begins >= start) & (begins < end)]


def _checked(log: LogFile, columns: BatchColumns, chosen: NDArray[np.int64]) -> BatchColumns:
    """Compute the checksums from the first to the last of the rows chosen."""
    row, last = int(chosen[0]), int(chosen[-1])
    valid = columns.crc_valid.copy()
    while row <= last:
        checked = next(log.scan(int(columns.position[row])))
        count = min(len(checked), last + 1 - row)
        valid[row : row + count] = checked.crc_valid[:count]
        row += max(count, 1)
    return replace(columns, crc_valid=valid)


def _ordered(rows: Batches) -> Batches:
    """Sort batches by offset, and drop those that stand in the log twice."""
    rows = rows[np.argsort(rows["base_offset"], kind="stable")]
    if len(rows) < 2:
        return rows
    same = np.ones(len(rows) - 1, np.bool_)
    for name in COMPARED:
        same &= rows[name][1:] == rows[name][:-1]
    kept: Batches = rows[np.concatenate([[True], ~same])]
    return kept
