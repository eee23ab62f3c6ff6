"""Producer snapshots agree with the log before them about each producer."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import CONTROL_BIT, SEQUENCES, TRANSACTIONAL_BIT
from logstore.batch.control import ControlRecord
from logstore.errors import LogStoreError
from logstore.file_name import FileKind, file_name
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.producer_snapshot import ProducerSnapshot, ProducerStateEntry
from logstore.offline.segment import Segment
from logstore.verify.compaction import Compaction
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck
from logstore.verify.reading import read_file

SNAPSHOTS_MISSING: Final = "producer-snapshots-missing"


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """One snapshot: the state of all producers before `offset`."""

    offset: int
    path: Path


@dataclass(slots=True)
class _Logged:
    """The state of each producer by the log, by producer id."""

    data: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Of the last batch of records: its last offset, last sequence number, and how many offsets it reaches over."""
    any: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of the last batch, which may be a marker: producer epoch and time."""
    markers: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The offset of the last marker, and its coordinator's epoch."""
    transactional: dict[int, tuple[int]] = field(default_factory=dict)
    """The last offset in a transaction."""

    def copy(self) -> "_Logged":
        return _Logged(dict(self.data), dict(self.any), dict(self.markers), dict(self.transactional))


@dataclass(slots=True)
class _Comparison:
    file: SnapshotFile
    logged: _Logged


class ProducerCheck(SilentCheck):
    """Compares each producer's last offset in a snapshot with its last batch before the snapshot.

    Producers that a snapshot leaves out have expired, and those that only it knows wrote before the log's start; a log
    that was damaged or compacted lacks batches, and then only whether the snapshots can be read is checked.
    """

    def __init__(
        self,
        report: Reporter,
        compaction: Compaction,
        snapshots: list[SnapshotFile],
        log_start: int,
        *,
        must_have_one: bool = False,
    ) -> None:
        """With `must_have_one` a broker has stopped in order, which leaves a snapshot of every log with records."""
        self._report = report
        self._are_missing = must_have_one and not snapshots
        self._compaction = compaction
        self._waiting = sorted(snapshots, key=lambda snapshot: snapshot.offset)
        self._due: list[_Comparison] = []
        self._log_start = log_start
        self._logged = _Logged()
        self._incomplete = False

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Follow the producers, and remember where they stood at each snapshot."""
        columns = chunk.columns
        self._incomplete |= chunk.totals.corrupt > 0
        start = 0
        while self._waiting and self._waiting[0].offset <= int(columns.last_offset[-1]):
            snapshot = self._waiting.pop(0)
            end = int(np.searchsorted(columns.last_offset, snapshot.offset))
            self._follow(chunk, slice(start, end))
            self._due.append(_Comparison(snapshot, self._logged.copy()))
            start = max(start, end)
        self._follow(chunk, slice(start, len(columns)))
        yield from ()

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Stop comparing."""
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
                self._due.append(_Comparison(snapshot, self._logged.copy()))
        for comparison in self._due:
            yield from self._compare(comparison)
        if self._are_missing and self._logged.any:
            yield self._report.error(
                SNAPSHOTS_MISSING,
                "no producer snapshot is there, although the broker stopped in order, which leaves one: at its next "
                "start a broker does not read the log for them, and knows none of its producers and open transactions "
                f"any more; remove {CLEAN_SHUTDOWN_NAME} before that, and it reads the log",
                file=file_name(FileKind.PRODUCER_SNAPSHOT, log_end_offset),
                offset=log_end_offset,
            )

    def _follow(self, chunk: Chunk, rows: slice) -> None:
        """Apply each producer's last batches among the rows."""
        if not chunk.totals.with_producer:
            return
        columns = chunk.columns
        producers: NDArray[np.int64] = columns.producer_id[rows]
        known = (producers >= 0).nonzero()[0]
        if not len(known):
            return
        first, last = columns.base_offset[rows], columns.last_offset[rows]
        sequence = columns.base_sequence[rows].astype(np.int64)
        last_sequence = np.where(sequence < 0, sequence, (sequence + last - first) % SEQUENCES)
        epoch, timestamp = columns.producer_epoch[rows], columns.max_timestamp[rows]
        attributes = columns.attributes[rows][known]
        is_control = (attributes & CONTROL_BIT) != 0
        is_transactional = (attributes & TRANSACTIONAL_BIT) != 0
        for mine, into, told in (
            (known[~is_control], self._logged.data, (last, last_sequence, last - first)),
            (known, self._logged.any, (epoch, timestamp)),
            (known[is_control], self._logged.markers, (last, columns.position[rows])),
            (known[is_transactional & ~is_control], self._logged.transactional, (last,)),
        ):
            ids, from_end = np.unique(producers[mine][::-1], return_index=True)
            values = [column[mine][::-1][from_end].tolist() for column in told]
            into.update(zip(ids.tolist(), zip(*values, strict=True), strict=True))
        for producer in dict.fromkeys(producers[known[is_control]].tolist()):
            last_offset, position = self._logged.markers[producer]
            self._logged.markers[producer] = last_offset, _coordinator_epoch(chunk, position)

    def _compare(self, comparison: _Comparison) -> Iterator[Finding]:
        name = comparison.file.path.name
        read = partial(ProducerSnapshot.read, comparison.file.path)
        findings, snapshot = read_file(read, name, "snapshot-unreadable", self._report)
        yield from findings
        if snapshot is None or self._incomplete or self._compaction.found:
            return
        for entry in snapshot.entries:
            difference = next(self._differences(entry, comparison.logged), None)
            if difference is not None:
                yield self._report.error(
                    "snapshot-differs",
                    f"producer {entry.producer_id} {difference}: duplicates may be accepted, or writes refused",
                    file=name,
                    offset=entry.last_offset,
                )

    def _differences(self, entry: ProducerStateEntry, logged: "_Logged") -> Iterator[str]:
        """Describe how an entry differs from the log, as far as the log still has the producer's batches."""
        producer = entry.producer_id
        last_offset, last_sequence, delta = logged.data.get(producer, (-1, -1, 0))
        if entry.last_offset >= self._log_start and entry.last_offset != last_offset:
            yield f"wrote last at offset {entry.last_offset} by the snapshot and at {last_offset} by the log"
        if producer not in logged.any:
            return
        epoch, timestamp = logged.any[producer]
        told = [("has epoch", entry.producer_epoch, epoch), ("wrote last at time", entry.timestamp, timestamp)]
        if entry.last_offset == last_offset >= 0:
            told += [
                ("has sequence number", entry.last_sequence, last_sequence),
                ("has a last batch that reaches over", entry.offset_delta, delta),
            ]
        for what, snapshotted, found in told:
            if snapshotted != found:
                yield f"{what} {snapshotted} by the snapshot and {found} by the log"
        marker, coordinator_epoch = logged.markers.get(producer, (-1, -1))
        # A producer that had expired before it wrote again is known by what it wrote since.
        was_forgotten = entry.coordinator_epoch == -1 and last_offset > marker
        if marker >= 0 and entry.coordinator_epoch != coordinator_epoch and not was_forgotten:
            yield f"has coordinator epoch {entry.coordinator_epoch} by the snapshot and {coordinator_epoch} by the log"
        begun, (written,) = entry.current_transaction_first_offset, logged.transactional.get(producer, (-1,))
        may_be_open = marker < begun and (begun <= written or begun < self._log_start)
        must_be_open = written > marker and written >= self._log_start
        if (begun >= 0 and not may_be_open) or (begun < 0 and must_be_open) or begun < -1:
            yield f"has a transaction open from {begun} by the snapshot, but not by the log"


def _coordinator_epoch(chunk: Chunk, position: int) -> int:
    try:
        marker = ControlRecord.of(next(RecordBatch(chunk.log.data, position).records())).end_transaction_marker()
    except (LogStoreError, StopIteration):  # which the check of transactions reports
        return -1
    return marker.coordinator_epoch if marker is not None else -1
