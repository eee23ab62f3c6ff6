"""What Kafka would know of a log once it had opened and, where needed, recovered it: worked out without a write."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from epoch import EpochHistory
from epoch.checkpoint import LeaderEpochCheckpoint
from logstore.columns import BatchColumns
from logstore.epoch_runs import EpochRuns
from logstore.errors import InvalidBatchHeaderError, LogStoreError
from logstore.growing_log import GrowingLog
from logstore.log_file import LogFile
from logstore.partition_directory import PartitionDirectory
from logstore.segment import Segment


@dataclass(frozen=True, slots=True)
class RemovedBatches:
    """What a truncation takes away: whole batches, control batches included."""

    records: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RecoveredLog:
    """The offsets and the epoch history that a broker works with after it loaded this directory (Kafka: LogLoader)."""

    partition: PartitionDirectory
    log_start_offset: int
    log_end_offset: int
    high_watermark: int | None
    """Within the log; None where no checkpoint tells it. Kafka then starts again from the log's start."""
    history: EpochHistory
    segments: tuple[Segment, ...]
    """The segments that are left; recovery removes those after the first damage."""
    valid_bytes: int
    """Bytes of the last of them that recovery keeps."""
    damage: LogStoreError | None
    """What stands where the log ends although files go on, with its place; None where nothing does."""

    @classmethod
    def load(cls, partition: PartitionDirectory) -> "RecoveredLog":
        """Load a log as Kafka would.

        After a clean stop only the last segment's headers are read. Otherwise the segments from the recovery point on
        are checked, batch by batch, and the log ends where the first of them is damaged. A broker may be at work: a
        tail that changes is read again before it is called damage. Raises epoch.EpochError where the leader-epoch
        checkpoint cannot be parsed, as Kafka refuses to load the log then, and OSError: FileNotFoundError where a
        segment was deleted since the directory was listed.
        """
        checkpoints = partition.checkpoints
        start = partition.log_start_offset
        tail = _read_tail(partition)
        history = _history(partition, tail).truncate_to(tail.log_end_offset).truncate_from_start(start)
        high_watermark = checkpoints.high_watermark
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

    def lineage(self) -> EpochHistory:
        """Return who led when: the history, or where that was lost what the batches tell."""
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
        for segment in self._segments_from(offset):
            for columns in self._batches(segment):
                gone = columns.last_offset >= offset
                records += int(columns.record_count[gone].sum(dtype=np.int64))
                size += int(columns.size[gone].sum())
        return RemovedBatches(records, size)

    def _segments_from(self, offset: int) -> Sequence[Segment]:
        """Return the segments that may hold `offset` or later ones."""
        if offset >= self.log_end_offset:
            return ()
        first = max((number for number, seg in enumerate(self.segments) if seg.base_offset <= offset), default=0)
        return self.segments[first:]

    def _batches(self, segment: Segment) -> Iterator[BatchColumns]:
        """Read a segment's headers, up to where recovery cuts it off."""
        limit = self.valid_bytes if segment is self.segments[-1] else segment.size
        with segment.open_log() as log:
            for columns in log.scan(check_crc=False):
                kept = int(np.searchsorted(columns.position, limit))
                yield columns if kept == len(columns) else columns.first(kept)


@dataclass(slots=True)
class _Tail:
    segments: list[Segment]
    log_end_offset: int
    valid_bytes: int
    epochs: EpochRuns
    damage: LogStoreError | None = None


def _read_tail(partition: PartitionDirectory) -> _Tail:
    """Read what opening the log reads: the last segment, or all from the recovery point on."""
    segments = partition.segments
    tail = _Tail([], partition.log_start_offset, 0, EpochRuns())
    first_read = _first_segment_to_read(partition)
    for number, segment in enumerate(segments):
        tail.segments.append(segment)
        tail.log_end_offset = max(tail.log_end_offset, segment.base_offset)
        if number >= first_read:
            is_last = segment is segments[-1]
            _read_segment(segment, tail, check_crc=not partition.checkpoints.clean_shutdown, is_last=is_last)
        if tail.damage:
            break
    return tail


def _first_segment_to_read(partition: PartitionDirectory) -> int:
    last = len(partition.segments) - 1
    if partition.checkpoints.clean_shutdown:
        return last
    recovery_point = partition.checkpoints.recovery_point or 0
    holding = [number for number, seg in enumerate(partition.segments) if seg.base_offset <= recovery_point]
    return min(max(holding, default=0), last)


def _read_segment(segment: Segment, tail: _Tail, *, check_crc: bool, is_last: bool) -> None:
    """Take over a segment's batches up to the first damage."""
    tail.valid_bytes = 0
    growing = GrowingLog(segment.log_path)
    while True:
        with growing.open() as log:
            _take_over_batches(log, tail, segment.log_path.name, check_crc=check_crc)
            tail.damage = _damage_at(log, tail.valid_bytes, is_last=is_last)
        if not (tail.damage and is_last and growing.is_worth_another_read()):
            return


def _take_over_batches(log: LogFile, tail: _Tail, file: str, *, check_crc: bool) -> None:
    """Go on behind the batches that are known already, up to the first that is not valid."""
    for columns in log.scan(tail.valid_bytes, check_crc=check_crc):
        valid = int(np.argmin(columns.crc_valid)) if not columns.crc_valid.all() else len(columns)
        if valid:
            good = columns.first(valid)
            tail.epochs.add(good, file)
            tail.log_end_offset = max(tail.log_end_offset, int(good.last_offset[-1]) + 1)
            tail.valid_bytes = int(good.position[-1] + good.size[-1])
        if valid < len(columns):
            return


def _damage_at(log: LogFile, position: int, *, is_last: bool) -> LogStoreError | None:
    """Say what is wrong where no valid batch follows; zeros after the whole log are only preallocated."""
    if position == log.size or (is_last and not log.array[position:].any()):
        return None
    try:
        next(log.batches(position)).ensure_valid()
    except LogStoreError as error:
        return error
    return InvalidBatchHeaderError("no valid batch begins here", file=log.path, position=position)


def _history(partition: PartitionDirectory, tail: _Tail) -> EpochHistory:
    """Read the checkpoint and add, as Kafka's recovery does, the epochs above its latest that the batches carry.

    Nothing below the latest is restored, even where the latest starts at the log's end and so is dropped next: a
    follower that loaded such a file truncates to its high watermark. (`EpochHistory.reconcile` does better.)
    """
    path = partition.epoch_checkpoint_path
    history = EpochHistory(LeaderEpochCheckpoint(path.parent).read() if path else ())
    if partition.checkpoints.clean_shutdown:
        return history
    latest = history.latest_epoch
    newer: list[tuple[int, int]] = []
    for run in tail.epochs.known():
        if latest is None or run.epoch > latest:
            newer.append((run.epoch, run.first_offset))
            latest = run.epoch
    return history.assign_many(newer)
