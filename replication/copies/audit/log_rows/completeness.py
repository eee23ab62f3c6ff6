"""Whether a copy has all that is asked for of it: offsets that no cleaner removed, each once."""

from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from epoch import EpochError, EpochHistory
from epoch.history import MAX_OFFSET
from logstore.batch.columns import BatchColumns
from logstore.file_name import FileKind, file_name
from logstore.offline.columns.control_types import is_valid
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import begins_below, checkpointed_history
from logstore.verify.compaction import may_be_cleaned_to
from logstore.verify.log_pieces import DamagedBytes, read_pieces
from logstore.verify.own_files_check import known_gaps
from replication.base.errors import DataLossError
from replication.copies.audit.log_rows.selection import Selection

MOST_GAPS: Final = 1_000
"""The last ones: what the cleaner has made lies before them."""


class Gap(NamedTuple):
    """No batch holds the offsets from `start` to `end`, exclusive."""

    start: int
    end: int
    file: Path
    position: int
    """Of the batch behind it."""


@dataclass(slots=True)
class Completeness:
    """Goes over the headers of some segments of a copy, one after the other."""

    partition: PartitionDirectory
    """Of a remote copy, with the segments that are read alone."""
    selection: Selection
    active: int
    """The base offset of the log's last segment."""
    next_offset: int | None = None
    """What the next batch has to begin with; None where damage leaves that open."""
    gaps: deque[Gap] = field(default_factory=lambda: deque(maxlen=MOST_GAPS))
    holes_end: int = 0
    """Where the last batch ends from which the cleaner removed records."""

    def begin(self) -> None:
        """Look at where the log begins, whose first segment is read. Raises DataLossError where it began before."""
        begins, first = begins_below(self.partition, self._history()), self.partition.segments[0].base_offset
        if begins is not None:
            path = self.partition.path / file_name(FileKind.LOG, begins)
            self._refuse(Gap(begins, first, path, 0), "in remote storage, or lost: the files do not show which")

    def take(self, base_offset: int, log: LogFile) -> None:
        """Look at a segment. Raises DataLossError where a batch is in it that should not follow the one before."""
        if self.next_offset is None:
            self.next_offset = base_offset
        for piece in read_pieces(log, lambda log, position: log.scan(position, check_crc=False)):
            if isinstance(piece, DamagedBytes):
                self.next_offset = None
            else:
                self._follow(log, piece)

    def end(self, following: int | None) -> None:
        """Look at what is missing, where the segment behind begins with an offset, or none is there.

        Raises DataLossError.
        """
        if following is not None and self.next_offset is not None and self.next_offset < following:
            path = self.partition.path / file_name(FileKind.LOG, following)
            self.gaps.append(Gap(self.next_offset, following, path, 0))
        cleaned_to = may_be_cleaned_to(self.partition, self.holes_end, self.active)
        least = max(cleaned_to, self.partition.log_start_offset)
        skipped = replace(known_gaps(self.partition), holes=())
        for gap in self.gaps:
            if not skipped.covers(gap.start, gap.end):
                lost = gap._replace(start=max(gap.start, least))
                self._refuse(lost, "not in the files, and no cleaner has been there")

    def _follow(self, log: LogFile, columns: BatchColumns) -> None:
        offsets = columns.last_offset - columns.base_offset + 1
        holes = columns.record_count < offsets
        if holes.any():
            self.holes_end = max(self.holes_end, int(columns.last_offset[holes].max()) + 1)
        # Records beyond the offsets of their header are there all the same, and may come again in the next batch.
        ends = columns.base_offset + np.where(columns.has_too_many, columns.record_count, offsets)
        before = np.concatenate(([self._expected(columns)], ends[:-1]))
        for row in np.flatnonzero(columns.base_offset != before).tolist():
            # An offset under a wrong checksum is anybody's guess; reading tells that the batch is damaged.
            if all(is_valid(log.data, columns, each) for each in range(max(row - 1, 0), row + 1)):
                self._part(log, columns, row, int(before[row]))
        self.next_offset = int(ends[-1])

    def _expected(self, columns: BatchColumns) -> int:
        return int(columns.base_offset[0]) if self.next_offset is None else self.next_offset

    def _part(self, log: LogFile, columns: BatchColumns, row: int, expected: int) -> None:
        """Note the gap between two batches, or raise DataLossError where they overlap."""
        base, last, position = (int(each[row]) for each in (columns.base_offset, columns.last_offset, columns.position))
        path = log.path or self.partition.path
        if base > expected:
            self.gaps.append(Gap(expected, base, path, position))
        elif self._asked(base, last + 1):
            what = f"the batch with offsets {base}..{last} follows offset {expected - 1}"
            raise DataLossError(f"{what}: its records come twice, or out of order", path, position)

    def _refuse(self, gap: Gap, why: str) -> None:
        start, end = self._clipped(gap.start, gap.end)
        if start < end:
            raise DataLossError(f"offsets {start}..{end - 1} are {why}", gap.file, gap.position)

    def _asked(self, start: int, end: int) -> bool:
        start, end = self._clipped(start, end)
        return start < end

    def _clipped(self, start: int, end: int) -> tuple[int, int]:
        last = self.selection.last_offset
        return max(start, self.selection.first_offset), min(end, last + 1 if last < MAX_OFFSET else MAX_OFFSET)

    def _history(self) -> EpochHistory:
        try:
            return checkpointed_history(self.partition)
        except (EpochError, OSError):
            return EpochHistory()
