"""Producer snapshots say of each producer what the log before them says."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from logstore.batch_attributes import CONTROL_BIT
from logstore.columns import BatchColumns
from logstore.producer_snapshot import ProducerSnapshot
from logstore.segment import Segment
from logstore.verify.compaction import Compaction
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck
from logstore.verify.reading import read_file


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """One snapshot: the state of all producers before `offset`."""

    offset: int
    path: Path


@dataclass(slots=True)
class _Comparison:
    file: SnapshotFile
    last_offsets: dict[int, int] = field(default_factory=dict)


class ProducerCheck(SilentCheck):
    """Compares each producer's last offset in a snapshot with its last batch before the snapshot.

    Producers that a snapshot leaves out have expired, and those that only it knows wrote before the log's start; a log
    that was damaged or compacted lacks batches, and then only whether the snapshots can be read is checked.
    """

    def __init__(self, report: Reporter, compaction: Compaction, snapshots: list[SnapshotFile], log_start: int) -> None:
        self._report = report
        self._compaction = compaction
        self._waiting = sorted(snapshots, key=lambda snapshot: snapshot.offset)
        self._due: list[_Comparison] = []
        self._log_start = log_start
        self._last_offsets: dict[int, int] = {}
        self._incomplete = False

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Follow the producers, and remember where they stood at each snapshot."""
        columns = chunk.columns
        self._incomplete |= not columns.crc_valid.all()
        start = 0
        while self._waiting and self._waiting[0].offset <= int(columns.last_offset[-1]):
            snapshot = self._waiting.pop(0)
            end = int(np.searchsorted(columns.last_offset, snapshot.offset))
            self._follow(columns, slice(start, end))
            self._due.append(_Comparison(snapshot, dict(self._last_offsets)))
            start = max(start, end)
        self._follow(columns, slice(start, len(columns)))
        yield from ()

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Give up comparing."""
        del segment, start, end
        self._incomplete = True

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Read the snapshots and compare them."""
        for snapshot in self._waiting:
            if snapshot.offset > log_end_offset:
                yield self._report.warning(
                    "snapshot-beyond-log-end",
                    f"a snapshot of the producers before offset {snapshot.offset}, but the log ends at "
                    f"{log_end_offset}: Kafka removes it when it loads the log",
                    file=snapshot.path.name,
                    offset=snapshot.offset,
                )
            else:
                self._due.append(_Comparison(snapshot, dict(self._last_offsets)))
        for comparison in self._due:
            yield from self._compare(comparison)

    def _follow(self, columns: BatchColumns, rows: slice) -> None:
        """Take over each producer's last batch among the rows."""
        producers: NDArray[np.int64] = columns.producer_id[rows]
        idempotent = (producers >= 0) & ((columns.attributes[rows] & CONTROL_BIT) == 0)
        if not idempotent.any():
            return
        ids, from_end = np.unique(producers[idempotent][::-1], return_index=True)
        last_offsets = columns.last_offset[rows][idempotent][::-1][from_end]
        self._last_offsets.update(zip(ids.tolist(), last_offsets.tolist(), strict=True))

    def _compare(self, comparison: _Comparison) -> Iterator[Finding]:
        name = comparison.file.path.name
        read = partial(ProducerSnapshot.read, comparison.file.path)
        snapshot = yield from read_file(read, name, "snapshot-unreadable", self._report)
        if snapshot is None or self._incomplete or self._compaction.found:
            return
        for entry in snapshot.entries:
            logged = comparison.last_offsets.get(entry.producer_id, -1)
            if entry.last_offset >= self._log_start and entry.last_offset != logged:
                yield self._report.error(
                    "snapshot-differs",
                    f"producer {entry.producer_id} wrote last at offset {entry.last_offset} by the snapshot and at "
                    f"{logged} by the log: duplicates may be accepted, or writes refused",
                    file=name,
                    offset=entry.last_offset,
                )
