"""What Kafka would know of a log once it had opened and, where needed, recovered it: worked out without a write."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from epoch import EpochHistory
from epoch.checkpoint import LeaderEpochCheckpoint
from logstore.base_offsets import number_of_holder
from logstore.batch.batch_order import Surroundings
from logstore.batch.columns import BatchColumns
from logstore.batch.record import Record
from logstore.errors import LogStoreError, OffsetOutOfRangeError
from logstore.file_name import FileFate, FileKind
from logstore.offline.columns.column_source import ColumnSource
from logstore.offline.epoch_runs import EpochRuns
from logstore.offline.header_scan import scan_headers
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovery_scan import RecoveryScan, first_segment_to_read
from logstore.offline.segment import Segment
from logstore.segment.read_view import ReadView

if TYPE_CHECKING:
    from logstore.offline.columns.column_reader import Chunk


@dataclass(frozen=True, slots=True)
class RemovedBatches:
    """What a truncation takes away: whole batches, control batches included."""

    records: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RecoveredLog(ColumnSource):
    """The offsets and the epoch history that a broker would have after loading this directory (Kafka: LogLoader)."""

    partition: PartitionDirectory
    log_start_offset: int
    log_end_offset: int
    high_watermark: int | None
    """Within the log; None where no checkpoint has it. Kafka then starts again from the log's start."""
    history: EpochHistory
    segments: tuple[Segment, ...]
    """The segments that are left; recovery removes those after the first damage."""
    valid_bytes: int
    """Bytes of the last of them that recovery keeps."""
    damage: LogStoreError | None
    """The error at the log's end if files continue beyond it, with its place; None otherwise."""

    def __repr__(self) -> str:
        place = f"start={self.log_start_offset}, end={self.log_end_offset}, high_watermark={self.high_watermark}"
        return f"RecoveredLog({self.partition.path}, {place})"

    @classmethod
    def load(cls, partition: PartitionDirectory) -> "RecoveredLog":
        """Load a log as Kafka would.

        After a clean stop only the last segment's headers are read. Otherwise the segments from the recovery point on
        are checked, batch by batch, and the log ends at the first damage. A broker may be running: an end that changes
        is read again before it is reported as damage. Raises epoch.EpochError if the leader-epoch checkpoint cannot be
        parsed, in which case Kafka refuses to load the log, and OSError: FileNotFoundError if a segment was deleted
        since the directory was listed.
        """
        return cls.of(partition, RecoveryScan.read(partition), checkpointed_history(partition))

    @classmethod
    def of(cls, partition: PartitionDirectory, tail: RecoveryScan, checkpointed: EpochHistory) -> "RecoveredLog":
        """Create it from a log whose tail and epoch checkpoint were read already."""
        start = partition.log_start_offset
        history = _with_tail(partition, checkpointed, tail)
        history = history.truncate_to(tail.log_end_offset).truncate_from_start(partition.epochs_start_offset)
        high_watermark = partition.checkpoints.high_watermark
        if high_watermark is not None:
            high_watermark = min(max(high_watermark, start), tail.log_end_offset)
        return cls(
            partition,
            start,
            tail.log_end_offset,
            high_watermark,
            history,
            tuple(tail.segments),
            tail.valid_bytes,
            tail.damage,
        )

    def begins_below(self, *, has_remote: bool | None = None) -> int | None:
        """Return where the log begins by its files, if below its first segment: the rest is remote, or lost.

        A broker records the start of each log that has remote storage (KIP-405). None where nothing says so.
        """
        return begins_below(self.partition, self.history, has_remote=has_remote)

    @property
    def dropped_bytes(self) -> int:
        """Bytes after the first damage, which recovery drops. Raises OSError."""
        if self.damage is None:
            return 0
        return sum(segment.size for segment in self.partition.segments[len(self.segments) - 1 :]) - self.valid_bytes

    @property
    def unchecked_bytes(self) -> int:
        """Bytes of its segments whose checksums loading has not looked at: all after a clean stop. Raises OSError."""
        is_clean = self.partition.checkpoints.clean_shutdown
        first = len(self.segments) if is_clean else first_segment_to_read(self.partition)
        return sum(segment.size for segment in self.segments[:first])

    def lineage(self) -> EpochHistory:
        """Return who led when: the epoch history, or if that was lost, the one in the batches."""
        if self.history:
            return self.history
        runs = EpochRuns()
        for segment in self.segments:
            for columns in self._batches(segment):
                runs.add(columns, segment.log_path.name)
        return EpochHistory.from_batches((run.epoch, run.first_offset) for run in runs.runs)

    def removed_by_truncation(self, offset: int) -> RemovedBatches:
        """Count what `truncate_to(offset)` removes: every batch that reaches `offset` or beyond."""
        records = size = 0
        for columns in self.batches_from(offset):
            records += int(columns.record_count.sum(dtype=np.int64))
            size += int(columns.size.sum())
        return RemovedBatches(records, size)

    def batches_from(self, offset: int) -> Iterator[BatchColumns]:
        """Read the headers of the batches that reach `offset` or beyond. Raises OSError."""
        for segment in self._segments_from(offset):
            for columns in self._batches(segment):
                yield columns.where(columns.last_offset >= offset)

    def records(self, start: int | None = None, end: int | None = None) -> Iterator[Record]:
        """Iterate over the records from `start` on, by default the log's start, to its end, or below the offset `end`.

        Those of open and aborted transactions are among them. Raises OffsetOutOfRangeError for a start outside of the
        log, what `ReadView.records` raises, and OSError.
        """
        offset = self.log_start_offset if start is None else start
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRangeError.outside_of(
                self.partition.path, offset, self.log_start_offset, self.log_end_offset, "read from its start or end"
            )
        for file in self.files_from(offset):
            view = ReadView(offset, file.data, position=0, surroundings=_InFile(str(file.path)))
            for record in view.records():
                if end is not None and record.offset >= end:
                    return
                yield record

    def files_from(self, offset: int) -> Iterator[LogFile]:
        """Map the log files that may hold `offset` or beyond, one at a time, each up to where recovery cuts it off."""
        for segment in self._segments_from(offset):
            limit = self.valid_bytes if segment is self.segments[-1] else segment.size
            yield LogFile(segment.open_log().data[:limit], segment.log_path)

    def end_after_truncation(self, offset: int) -> int:
        """Return where the log ends once `truncate_to(offset)` removed its batches and the log is opened again.

        This is below `offset` if a batch spans `offset`, since batches are removed whole, or if the offsets just below
        it are missing, as in a compacted log. (`Log.truncate_to` keeps `offset` as the end until the log is closed, as
        Kafka does.)
        """
        if offset >= self.log_end_offset:
            return self.log_end_offset
        if not self.segments or offset < self.segments[0].base_offset:
            return offset
        last_kept = self._segments_from(offset)[0]
        end = last_kept.base_offset
        for columns in self._batches(last_kept):
            gone = columns.last_offset >= offset
            kept = int(np.argmax(gone)) if gone.any() else len(columns)
            if kept:
                end = max(end, int(columns.last_offset[:kept].max()) + 1)
            if kept < len(columns):
                break
        return end

    def _chunks(self, start: int, end: int | None) -> "Iterator[Chunk]":
        """Read the records that recovery keeps, from the log's start on. Raises OSError, too."""
        from logstore.offline.columns.column_reader import ColumnReader  # noqa: PLC0415  numba loads on first bulk use

        reader = ColumnReader(max(start, self.log_start_offset), end)
        for file in self.files_from(reader.start):
            if reader.is_at_end:
                break
            reader.file = str(file.path)
            yield from reader.chunks(file.data)

    def _segments_from(self, offset: int) -> Sequence[Segment]:
        """Return the segments that may hold `offset` or later ones."""
        if offset >= self.log_end_offset:
            return ()
        return self.segments[number_of_holder([segment.base_offset for segment in self.segments], offset) :]

    def _batches(self, segment: Segment) -> Iterator[BatchColumns]:
        """Read a segment's headers, up to where recovery cuts it off."""
        limit = self.valid_bytes if segment is self.segments[-1] else segment.size
        for columns in scan_headers(segment.log_path):
            kept = int(np.searchsorted(columns.position, limit))
            yield columns if kept == len(columns) else columns.first(kept)


class _InFile(Surroundings):
    """What lies around a whole file: its name is known."""

    def __init__(self, path: str) -> None:
        self._path = path

    @property
    def file(self) -> str:
        return self._path


def checkpointed_history(partition: PartitionDirectory) -> EpochHistory:
    """Read the leader-epoch checkpoint; nothing where it is missing. Raises EpochError and OSError."""
    path = partition.epoch_checkpoint_path
    return LeaderEpochCheckpoint(path.parent).read_history() if path else EpochHistory()


def begins_below(partition: PartitionDirectory, history: EpochHistory, *, has_remote: bool | None = None) -> int | None:
    """Return where a log begins by its recorded start, if that is below its first segment; None elsewhere.

    By its leader epochs where no checkpoint file mentions it. None while segments are being deleted, too, but for a log
    that `has_remote` storage, where what is deleted here is there.
    """
    is_deleting = not has_remote and any(partition.named(FileKind.LOG, FileFate.DELETED))
    if not partition.segments or partition.own_checkpoints is not None or is_deleting:
        return None
    known, first = partition.checkpoints, partition.segments[0].base_offset
    begins = known.log_start_offset
    if not known.mentioned and history.earliest:
        begins = history.earliest.start_offset
    return begins if begins is not None and begins < first else None


def _with_tail(partition: PartitionDirectory, history: EpochHistory, tail: RecoveryScan) -> EpochHistory:
    """Add, as Kafka's recovery does, the epochs above the checkpoint's latest that the batches carry.

    Nothing below the latest is restored, even where the latest starts at the log's end and so is dropped next: a
    follower that loaded such a file truncates to its high watermark. (`EpochHistory.reconcile` does better.)
    """
    if partition.checkpoints.clean_shutdown:
        return history
    latest = history.latest_epoch
    newer: list[tuple[int, int]] = []
    for run in tail.epochs.known():
        if latest is None or run.epoch > latest:
            newer.append((run.epoch, run.first_offset))
            latest = run.epoch
    return history.assign_many(newer)
