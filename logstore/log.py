"""One partition's log, open for writing and reading (Kafka: UnifiedLog)."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

from epoch.filesystem import REAL, FileSystem
from logstore.append_info import NOTHING_APPENDED, AppendInfo
from logstore.append_origin import AppendOrigin
from logstore.append_validation import ValidatedAppend, validate_for_follower, validate_for_leader
from logstore.batch_attributes import NO_PRODUCER_ID
from logstore.batch_template import BatchTemplate
from logstore.deleted_segments import DeletedSegments
from logstore.encoding import encode_batch
from logstore.errors import LogClosedError, LogPoisonedError, OffsetOutOfRangeError, RecordBatchTooLargeError
from logstore.live_segment import LiveSegment
from logstore.log_config import LogConfig
from logstore.log_loader import LoadedLog, load_log
from logstore.log_observer import LogObserver
from logstore.log_reader import LogPlace
from logstore.open_files import OpenFiles
from logstore.own_checkpoints import OwnCheckpoints
from logstore.producer import AppendedBatch
from logstore.producer_append import ProducerAppend
from logstore.producer_replay import rebuild_producers
from logstore.readable_log import ReadableLog
from logstore.record import Record
from logstore.recovery_report import RecoveryReport
from logstore.retention import Condition, exceeds_age, exceeds_size, is_before, select_expired
from logstore.root_checkpoints import PartitionCheckpoints
from logstore.segment_file import OUT_OF_SPACE
from logstore.segment_list import SegmentList
from logstore.topic_partition import TopicPartition, parse_directory_name

MAX_EPOCH: Final = 2**31 - 1

# Half the cost of calling a NamedTuple's class, once an append.
_build: Final = tuple.__new__

RunLater = Callable[[Callable[[], object]], object]
"""Where work goes that an append need not wait for."""


def now_ms() -> int:
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


class Log(ReadableLog):
    """An append-only log of record batches, in segments.

    One thread writes at a time (others wait); any number of threads read and wait for nobody. All methods may raise
    OSError. After a failed write or fsync the log is poisoned: it can be read, and refuses writes until it is opened
    again. A full disk only fails the append that it fails; nothing of that is left in the log.

    >>> with Log.open("queue-0") as log:
    ...     log.append([Record(0, now_ms(), key=None, value=b"first")], leader_epoch=0)
    ...     [record.value for record in log.read(0, 1 << 20).records()]
    [b'first']
    """

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        loaded: LoadedLog,
        *,
        filesystem: FileSystem = REAL,
        clock: Callable[[], int] = now_ms,
        observer: LogObserver | None = None,
        open_files: OpenFiles | None = None,
        run_later: RunLater = lambda task: task(),
        own_checkpoints: OwnCheckpoints | None = None,
    ) -> None:
        """Take over what `load_log` found; see `open`."""
        super().__init__(directory, loaded)
        self.topic_partition: TopicPartition = parse_directory_name(directory.name).topic_partition
        self.config = config
        self.report: RecoveryReport = loaded.report
        """What opening the log found and did."""
        self._filesystem = filesystem
        self._clock = clock
        self._observer = observer
        self._open_files = open_files
        self._run_later = run_later
        self._own_checkpoints = own_checkpoints
        self._deleted = DeletedSegments(config.file_delete_delay_ms, clock)
        self._failure: OSError | None = None
        self._closed = False
        self._recovery_point = max(loaded.recovery_point, loaded.log_start_offset)
        self._current_epoch = -1
        self._jitter_ms = self._draw_jitter()
        self._set_end(loaded.log_end_offset)

    @classmethod
    def open(
        cls,
        directory: str | Path,
        config: LogConfig | None = None,
        *,
        checkpoints: PartitionCheckpoints | None = None,
        filesystem: FileSystem = REAL,
        clock: Callable[[], int] = now_ms,
        observer: LogObserver | None = None,
        open_files: OpenFiles | None = None,
        run_later: RunLater = lambda task: task(),
        progress: Callable[[int], object] = lambda _: None,
    ) -> Self:
        """Open the log in a directory named `topic-partition`, made where it is missing; recover it where needed.

        `checkpoints` is what a root's checkpoint files say (`LogDirectory` reads and writes them). Without them the
        log stands alone: it keeps such files itself, and nobody else may have it open. `clock` gives milliseconds
        since 1970 UTC. `run_later` may put flushes of completed segments into another thread; they are done at once
        by default. `progress` is told how many more bytes are recovered.

        Raises InvalidDirectoryNameError, SegmentTooLargeError and OSError.
        """
        path = Path(directory).absolute()
        config = config or LogConfig()
        topic_partition = parse_directory_name(path.name).topic_partition
        own = OwnCheckpoints(path, topic_partition, filesystem) if checkpoints is None else None
        if not path.is_dir():
            filesystem.mkdir(path)
        known = checkpoints if checkpoints is not None else OwnCheckpoints(path, topic_partition, filesystem).read()
        loaded = load_log(
            path,
            config,
            log_start_offset=known.log_start_offset or 0,
            recovery_point=known.recovery_point or 0,
            clean_shutdown=known.clean_shutdown,
            filesystem=filesystem,
            clock=clock,
            open_files=open_files,
            progress=progress,
        )
        if own is not None:
            own.mark_open()
        log = cls(
            path,
            config,
            loaded,
            filesystem=filesystem,
            clock=clock,
            observer=observer,
            open_files=open_files,
            run_later=run_later,
            own_checkpoints=own,
        )
        log.update_high_watermark(known.high_watermark or 0)
        if observer is not None:
            observer.recovered(path, loaded.report)
        return log

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._failure is None:
            self.close()
        else:
            self.abandon()

    @property
    def failure(self) -> OSError | None:
        """What poisoned the log: a write or fsync that failed; None while it can be written."""
        return self._failure

    # --- writing

    def append(
        self,
        records: Sequence[Record] | bytes | bytearray | memoryview,
        *,
        leader_epoch: int,
        template: BatchTemplate | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
    ) -> AppendInfo:
        """Append one batch as the leader: offsets, epoch and, with LogAppendTime, timestamps are given here.

        Records are encoded as `template` says (codec, producer); bytes are a batch as a producer sends it, with base
        offset 0. Kafka: appendAsLeader.

        Raises what `validate_for_leader` and `ProducerState.prepare` raise, RecordBatchTooLargeError, LogPoisonedError
        and OSError, with nothing appended.
        """
        data = records if isinstance(records, bytes | bytearray | memoryview) else encode_batch(records, template)
        with self._lock:
            self._ensure_writable()
            append = validate_for_leader(
                data,
                next_offset=self.log_end_offset,
                leader_epoch=leader_epoch,
                now_ms=self._clock(),
                config=self.config,
                origin=origin,
            )
            return self._append(append, origin, transaction_version)

    def append_batches(self, data: bytes | bytearray | memoryview, *, leader_epoch: int = MAX_EPOCH) -> AppendInfo:
        """Append batches as a follower: as they were fetched from the leader of `leader_epoch`, offsets kept.

        What is no whole batch at the end is left out, and so is everything from the first batch of a later epoch on.
        Offsets may leave gaps, and never go back. Kafka: appendAsFollower.

        Raises what `validate_for_follower` raises, RecordBatchTooLargeError, LogPoisonedError and OSError, with
        nothing appended.
        """
        with self._lock:
            if self._closed or self._failure is not None:
                self._refuse_write()
            append = validate_for_follower(data, next_offset=self._reader.end[0], leader_epoch=leader_epoch)
            return self._append(append, AppendOrigin.REPLICATION, None)

    def _append(self, append: ValidatedAppend, origin: AppendOrigin, transaction_version: int | None) -> AppendInfo:
        data, batches, max_timestamp = append
        if not batches:
            return NOTHING_APPENDED
        config, size, last_offset = self.config, len(data), batches[-1].last_offset
        if size > config.segment_bytes:
            self._refuse_size(append)
        producers: ProducerAppend | None = None
        for batch in batches:
            if batch.producer_id != NO_PRODUCER_ID:
                producers = self._producers.prepare(batches, origin, transaction_version=transaction_version)
                break
        if producers is not None and producers.duplicate is not None:
            return self._tell_duplicate(producers.duplicate)
        try:
            for batch in batches:
                if batch.leader_epoch != self._current_epoch:
                    self._assign_epoch(batch.leader_epoch, batch.base_offset, magic=batch.magic)
            segment = self._reader.segments.active
            if segment.should_roll(size, max_timestamp, last_offset, self._clock, self._jitter_ms):
                segment = self._roll(append.first_offset if batches[0].magic == 2 else last_offset - MAX_EPOCH)
            segment.append(data, batches)
            end_offset = last_offset + 1
            self._reader.end = _build(LogPlace, (end_offset, segment.base_offset, segment.file.size))
            if producers is not None:
                for aborted in self._producers.update(producers):
                    segment.transaction_index.append(aborted)
            self._producers.end_offset = end_offset
            if end_offset - self._recovery_point >= config.flush_messages:
                self._flush(end_offset, include_active=True)
        except OSError as error:
            self._poison_unless_full(error)
            raise
        info: AppendInfo = _build(AppendInfo, (append.first_offset, last_offset, max_timestamp, size, False))
        if self._observer is not None:
            self._observer.appended(self.directory, info)
        return info

    def _refuse_size(self, append: ValidatedAppend) -> NoReturn:
        raise RecordBatchTooLargeError(
            f"{len(append.data):,} bytes at once are more than a segment of {self.config.segment_bytes:,} takes",
            file=self.directory,
            offset=append.first_offset,
            advice="append fewer batches at once, or set segment_bytes higher",
        )

    def _tell_duplicate(self, known: AppendedBatch) -> AppendInfo:
        info = AppendInfo(
            known.last_offset - known.offset_delta, known.last_offset, known.timestamp, 0, is_duplicate=True
        )
        if self._observer is not None:
            self._observer.appended(self.directory, info)
        return info

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` leads from `start_offset` on: a new leader does so before it writes.

        Kafka: assignEpochStartOffset. Raises InvalidEpochEntryError.
        """
        with self._changing():
            self._assign_epoch(epoch, start_offset, magic=2)

    def _assign_epoch(self, epoch: int, start_offset: int, *, magic: int) -> None:
        if magic < 2:
            if self._epochs:
                self._epochs.clear_and_flush()
            return
        self._epochs.assign(epoch, start_offset)
        # From here on this epoch's batches change nothing, as long as the log only grows.
        self._current_epoch = epoch if start_offset <= self.log_end_offset else -1

    # --- segments

    def roll(self) -> None:
        """Let a new segment begin at the log's end; an empty one stays the active one."""
        with self._changing():
            if self._reader.segments.active.size or self._reader.segments.active.base_offset < self.log_end_offset:
                self._roll(self.log_end_offset)

    def _roll(self, expected_offset: int) -> LiveSegment:
        base_offset = max(expected_offset, self.log_end_offset)
        segments = self._reader.segments
        old = segments.active
        if base_offset == old.base_offset:
            return old
        if base_offset < old.base_offset:
            # An append with a gap rolled, and then failed: the log goes on before the empty segment.
            segments = SegmentList(segments.segments[:-1])
            old.remove()
            self._recovery_point = min(self._recovery_point, base_offset)
        else:
            old.deactivate()
        segment = self._create_segment(base_offset)
        # With the segment's own offset, so that recovery of the segment begins with this snapshot.
        self._producers.end_offset = base_offset
        self._producers.take_snapshot(sync=False)
        self._reader.segments = segments.with_appended(segment)
        self._reader.end = LogPlace(self.log_end_offset, base_offset, 0)
        self._jitter_ms = self._draw_jitter()
        if self._observer is not None:
            self._observer.rolled(self.directory, base_offset)
        self._run_later(lambda: self._flush_rolled(base_offset))
        return segment

    def _create_segment(self, base_offset: int) -> LiveSegment:
        return LiveSegment.create(
            self.directory,
            base_offset,
            self.config,
            self._filesystem,
            created_ms=self._clock(),
            open_files=self._open_files,
        )

    def _draw_jitter(self) -> int:
        most = min(self.config.segment_jitter_ms, self.config.segment_ms)
        return random.randrange(most) if most else 0  # noqa: S311  no secret

    def _set_end(self, offset: int) -> None:
        active = self._reader.segments.active
        self._reader.end = LogPlace(offset, active.base_offset, active.size)
        self._recovery_point = min(self._recovery_point, offset)

    # --- flushing

    def flush(self) -> int:
        """Return once everything appended is on stable storage; return the recovery point, the log's end."""
        with self._changing():
            self._flush(self.log_end_offset, include_active=True)
            self._write_own_checkpoints()
            return self._recovery_point

    def _flush_rolled(self, base_offset: int) -> None:
        """Flush the segments before the one that begins at `base_offset`, unless that was done meanwhile."""
        with self._changing():
            self._flush(base_offset, include_active=False)

    def _flush(self, offset: int, *, include_active: bool) -> None:
        if offset < self._recovery_point or (offset == self._recovery_point and not include_active):
            return
        start = time.perf_counter()
        try:
            for segment in self._reader.segments.from_offset(self._recovery_point):
                if segment.base_offset < offset or include_active:
                    segment.flush()
            self._filesystem.fsync_directory(self.directory)
            self._epochs.flush()
        except OSError as error:
            self._poison(error)
            raise
        self._recovery_point = offset
        if self._observer is not None:
            self._observer.flushed(self.directory, offset, time.perf_counter() - start)

    # --- moving the ends

    def update_high_watermark(self, offset: int) -> int:
        """Move the high watermark, within the log's start and end; return where it is (Kafka: updateHighWatermark)."""
        with self._lock:
            self._high_watermark = max(self._log_start_offset, min(offset, self.log_end_offset))
            self._producers.on_high_watermark(self._high_watermark)
            return self._high_watermark

    def truncate_to(self, offset: int) -> bool:
        """Let the log end at `offset`; return whether it ended later (Kafka: truncateTo).

        A batch that reaches `offset` goes as a whole, and the log ends at `offset` all the same: with a gap. An
        offset before the first segment begins the log anew there. Raises ValueError for a negative offset.
        """
        if offset < 0:
            raise ValueError(f"a log cannot end at offset {offset}")
        if offset >= self.log_end_offset:
            with self._changing():
                # A leader that wrote nothing may have left an entry at the end, and another one may lead from there.
                self._epochs.truncate_to(self.log_end_offset)
                self._current_epoch = -1
            return False
        if offset < self.segments[0].base_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        with self._changing_what_is_read():
            removed = self._truncate_segments(offset)
            self._epochs.truncate_to(offset)
            self._log_start_offset = min(self._log_start_offset, offset)
            self._finish_truncation(offset, removed)
        return True

    def _truncate_segments(self, offset: int) -> int:
        """Drop the segments after `offset`, cut the one that holds it; return how many bytes that were."""
        size_before = self.size
        kept = [segment for segment in self.segments if segment.base_offset <= offset]
        dropped = self.segments[len(kept) :]
        self._reader.segments = SegmentList(kept)
        self._deleted.add(dropped)
        for segment in dropped:
            self._producers.delete_snapshot(segment.base_offset)
        kept[-1].truncate_to(offset, self._clock())
        self._set_end(offset)
        return size_before - self.size

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Drop everything; the log goes on at `offset` (Kafka: truncateFullyAndStartAt).

        `log_start_offset` is what a leader with tiered storage told; `offset` without it.
        """
        if offset < 0:
            raise ValueError(f"a log cannot start at offset {offset}")
        with self._changing_what_is_read():
            removed = self.size
            self._deleted.add(self.segments)
            self._reader.segments = SegmentList([self._create_segment(offset)])
            self._epochs.clear_and_flush()
            self._producers.truncate_fully_and_start_at(offset)
            self._log_start_offset = offset if log_start_offset is None else log_start_offset
            self._set_end(offset)
            self._high_watermark = offset
            self._finish_truncation(offset, removed)

    def _finish_truncation(self, offset: int, bytes_removed: int) -> None:
        self._current_epoch = -1
        rebuild_producers(
            self._producers,
            self._reader.segments,
            log_start_offset=self._log_start_offset,
            log_end_offset=offset,
            now_ms=self._clock(),
        )
        self.update_high_watermark(self._high_watermark)
        self._write_own_checkpoints()
        if self._observer is not None:
            self._observer.truncated(self.directory, offset, bytes_removed)

    def delete_records(self, before: int) -> bool:
        """Let the log start at `before`; return whether it started earlier (Kafka: maybeIncrementLogStartOffset).

        Segments that lie below it are deleted by `delete_old_segments`. Raises OffsetOutOfRangeError above the high
        watermark.
        """
        if before > self._high_watermark:
            raise OffsetOutOfRangeError(
                f"records can be deleted up to the high watermark {self._high_watermark:,}, and not up to {before:,}",
                file=self.directory,
                offset=before,
                advice="what is above it may still be truncated; wait until the high watermark has passed it",
            )
        with self._changing():
            if before <= self._log_start_offset:
                return False
            self._start_at(before)
            self._write_own_checkpoints()
            return True

    def _start_at(self, offset: int) -> None:
        self._log_start_offset = offset
        self._recovery_point = max(self._recovery_point, offset)
        self._epochs.truncate_from_start(offset)
        self._producers.on_log_start_offset(offset)

    def delete_old_segments(self) -> int:
        """Delete what lies below the log's start, and what `retention_bytes` and `retention_ms` no longer keep.

        Returns how many segments that were (Kafka: deleteOldSegments).
        """
        with self._changing():
            deleted = self._delete_segments(is_before(self._log_start_offset))
            if self.config.is_deleted_by_retention:
                deleted += self._delete_segments(exceeds_size(self.size, self.config))
                deleted += self._delete_segments(exceeds_age(self._clock(), self.config))
            self._deleted.remove_due()
            return deleted

    def _delete_segments(self, condition: Condition) -> int:
        expired = select_expired(
            self.segments, condition, high_watermark=self._high_watermark, log_end_offset=self.log_end_offset
        )
        if not expired:
            return 0
        if len(expired) == len(self.segments):
            self._roll(self.log_end_offset)
        with self._changing_what_is_read():
            kept = self.segments[len(expired) :]
            self._reader.segments = SegmentList(kept)
            if kept[0].base_offset > self._log_start_offset:
                self._start_at(kept[0].base_offset)
            self._deleted.add(expired)
            for segment in expired:
                self._producers.delete_snapshot(segment.base_offset)
                if self._observer is not None:
                    self._observer.deleted(self.directory, segment.base_offset, segment.size)
            self._write_own_checkpoints()
        return len(expired)

    # --- closing

    def expire_producers(self) -> None:
        """Forget producers that have been idle for `producer_id_expiration_ms`."""
        with self._lock:
            self._producers.expire(self._clock())

    def close(self) -> None:
        """Flush, and let go of the files; the next `open` needs no recovery. Closing again does nothing."""
        with self._lock:
            if self._closed:
                return
            self._ensure_writable()
            try:
                self._flush(self.log_end_offset, include_active=True)
                self._producers.take_snapshot(sync=True)
                for segment in self.segments:
                    segment.close()
                self._write_own_checkpoints()
                if self._own_checkpoints is not None:
                    self._own_checkpoints.mark_closed()
            except OSError as error:
                self._poison(error)
                raise
            self._deleted.close()
            self._closed = True

    def abandon(self) -> None:
        """Let go of the files and write nothing, as if the process had died (Kafka: closeHandlers).

        For a log whose disk has failed: the next `open` recovers it.
        """
        with self._lock:
            self._closed = True
            for segment in self.segments:
                segment.abandon()
            self._deleted.close()

    def recover(self) -> "Log":
        """Let go of a poisoned log and open it again: checked from the recovery point on, as after a crash."""
        self.abandon()
        return Log.open(
            self.directory,
            self.config,
            checkpoints=PartitionCheckpoints(
                recovery_point=self._recovery_point,
                high_watermark=self._high_watermark,
                log_start_offset=self._log_start_offset,
            )
            if self._own_checkpoints is None
            else None,
            filesystem=self._filesystem,
            clock=self._clock,
            observer=self._observer,
            open_files=self._open_files,
            run_later=self._run_later,
        )

    def _write_own_checkpoints(self) -> None:
        if self._own_checkpoints is not None:
            self._own_checkpoints.write(
                recovery_point=self._recovery_point,
                high_watermark=self._high_watermark,
                log_start_offset=self._log_start_offset,
            )

    # --- guarding

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock; poison the log where the disk fails meanwhile, other than by being full."""
        with self._lock:
            self._ensure_writable()
            try:
                yield
            except OSError as error:
                self._poison_unless_full(error)
                raise

    @contextmanager
    def _changing_what_is_read(self) -> Iterator[None]:
        """Let readers that look meanwhile look again; whatever fails in between poisons the log."""
        with self._lock:
            self._ensure_writable()
            self._reader.changes += 1
            try:
                yield
            except OSError as error:
                self._poison(error)
                raise
            finally:
                self._reader.changes += 1

    def _ensure_writable(self) -> None:
        if self._closed or self._failure is not None:
            self._refuse_write()

    def _refuse_write(self) -> NoReturn:
        if self._closed:
            raise LogClosedError("the log is closed", file=self.directory, advice="open it again")
        raise LogPoisonedError(
            f"the disk failed before ({self._failure})", file=self.directory, advice="open the log again"
        ) from self._failure

    def _poison_unless_full(self, error: OSError) -> None:
        if error.errno not in OUT_OF_SPACE or self._reader.segments.active.file.is_torn:
            self._poison(error)

    def _poison(self, error: OSError) -> None:
        if self._failure is None:
            self._failure = error
            if self._observer is not None:
                self._observer.failed(self.directory, error)
