"""Reads one segment of a copy, or a part of it, as far as it is asked for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from logstore.batch.columns import BatchColumns
from logstore.offline.log_file import LogFile
from logstore.verify.log_pieces import DamagedBytes, read_pieces
from replication.copies.audit.examination.part_scan import PartScan
from replication.copies.audit.log_rows.corrupt_rows import CorruptRows
from replication.copies.audit.log_rows.index_bounds import byte_bounds
from replication.copies.audit.log_rows.selection import Selection
from replication.copies.audit.snapshots.work import ByteRange

RowsOf = Callable[[LogFile, BatchColumns, CorruptRows], Iterator[pa.RecordBatch]]
"""Gives batches that were scanned as rows."""


@dataclass(frozen=True, slots=True)
class SegmentReader:
    """Reads a part of one file."""

    path: Path
    part: ByteRange
    selection: Selection
    corrupt: CorruptRows
    is_active: bool
    """Whether no segment follows: zeros at its end are room that was allocated before it is needed."""

    def read(self, log: LogFile, rows_of: RowsOf) -> Iterator[pa.RecordBatch]:
        """Read over damage to the next valid batch. Raises CorruptBatchError in mode FAILFAST."""
        bounds = byte_bounds(log, self.path, self.part.base_offset, self.selection)
        start, end = max(bounds.start, self.part.start), min(bounds.end, self.part.end)
        if start >= end:
            return
        for piece in read_pieces(log, PartScan(start, end).scan, bounds.start):
            if not isinstance(piece, DamagedBytes):
                yield from rows_of(log, self.selection.batches(piece), self.corrupt)
            elif piece.start >= start and not self._is_room(log, piece):
                size = piece.end - piece.start
                yield from self.corrupt.give(f"{size:,} bytes are no batch", piece.start, size=size)

    def _is_room(self, log: LogFile, damage: DamagedBytes) -> bool:
        return self.is_active and damage.end == log.size and not np.any(log.array[damage.start :])
