"""How a log grows: appends, new segments, flushes, and what happens when the disk fails."""

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import error as StructError  # noqa: N812  a class
from typing import Final, NoReturn

from epoch.filesystem import REAL, FileSystem
from epoch.resource_limits import ensure_room, is_limit, name_memory
from logstore.append.append_info import NOTHING_APPENDED, AppendInfo
from logstore.append.append_validation import Buffer, ValidatedAppend, validate_for_follower, validate_for_leader
from logstore.append.encoding import encode_batch
from logstore.append.plain_append import SEVERAL_BYTES, plain_batch, plain_producer_batch
from logstore.arguments import MAX_EPOCH, leader_epoch_number, whole_number
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch_attributes import NO_PRODUCER_ID
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.clock import now_ms
from logstore.errors import AppendError, FencedLeaderEpochError, InvalidRecordError, RecordBatchTooLargeError
from logstore.files.own_checkpoints import OwnCheckpoints
from logstore.log.deleted_segments import DeletedSegments
from logstore.log.log_contents import LogContents
from logstore.log.log_guard import ADDING, CHANGING, OPEN, REMOVING, LogGuard
from logstore.log.log_observer import LogObserver
from logstore.log.log_reader import LogReader
from logstore.log.undo import Undo
from logstore.log_config import MAX_INT64, LogConfig
from logstore.producers.producer import AppendedBatch
from logstore.producers.producer_append import ProducerAppend
from logstore.recovery.log_loader import LoadedLog
from logstore.recovery.recovery_report import RecoveryReport
from logstore.segment.live_segment import LiveSegment
from logstore.segment.open_files import OpenFiles
from logstore.segment.segment_list import SegmentList
from logstore.topic_partition import TopicPartition, parse_directory_name

# Made once: a union of types costs as much as encoding a header, at each append.
_BYTES: Final = (bytes, bytearray, memoryview)

# Half the cost of calling a NamedTuple's class, once an append.
_build: Final = tuple.__new__


class WritableLog:
    """The growing half of `Log`: one thread writes at a time, others wait."""

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
        own_checkpoints: OwnCheckpoints | None = None,
        recovery_advice: str,
    ) -> None:
        """Take over what `load_log` found; see `Log.open`."""
        self.directory = directory
        self._filesystem = filesystem
        self._observer = observer
        self._contents = LogContents(loaded)
        self._undo = Undo(directory, self._contents, filesystem)
        self._guard = LogGuard(directory, self._contents, self._undo, observer, recovery_advice)
        self._reader = LogReader(directory, self._contents, self._guard)
        self.topic_partition: TopicPartition = parse_directory_name(directory.name).topic_partition
        self.config = config
        self._takes_as_sent = config.takes_as_sent
        # Such an append cannot be taken back once it is flushed: what that opens must be there before.
        self._flushes_soon = config.flush_messages < MAX_INT64
        self.report: RecoveryReport = loaded.report
        """What opening the log found and did."""
        self._clock = clock
        self._open_files = open_files
        self._own_checkpoints = own_checkpoints
        self._deleted = DeletedSegments(config.file_delete_delay_ms, clock)
        self._jitter_ms = self._draw_jitter()

    # --- writing

    def append(
        self,
        records: Sequence[Record] | bytes | bytearray | memoryview,
        *,
        leader_epoch: int | None = None,
        template: BatchTemplate | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
    ) -> AppendInfo:
        """Append one batch as the leader: offsets, epoch and, with LogAppendTime, timestamps are given here.

        Without `leader_epoch` the latest epoch goes on, in a new log 0. Records are encoded as `template` says (codec,
        producer); bytes are a batch as a producer sends it, with base offset 0. Kafka: appendAsLeader.

        Raises FencedLeaderEpochError for an epoch below the latest, InvalidRecordError for bytes that hold no whole
        batch, what `validate_for_leader` and `ProducerState.prepare` raise, RecordBatchTooLargeError, LogPoisonedError
        and OSError, with nothing appended.
        """
        try:
            data = records if isinstance(records, _BYTES) else encode_batch(records, template)
        except MemoryError as error:
            name_memory(error, self.directory)
            raise
        if self._guard.is_nested():
            self._guard.refuse_nested()
        with self._guard.lock:
            if self._guard.state is not OPEN:
                self._guard.ensure_open()
            if self._flushes_soon:
                ensure_room(self.directory)
            next_offset, now = self._contents.end[0], self._clock()
            if leader_epoch is None:
                leader_epoch = self._contents.epochs.latest_epoch or 0
            try:
                if (
                    leader_epoch == self._contents.current_epoch
                    and origin is AppendOrigin.CLIENT
                    and self._takes_as_sent
                ):
                    plain = plain_producer_batch(data, next_offset, leader_epoch, now, self.config)
                    if plain is not None and self._write_plain(*plain) is not None:
                        return plain[1]
                if leader_epoch != self._contents.current_epoch:
                    leader_epoch = leader_epoch_number(leader_epoch)
                    self._refuse_lower_epoch(leader_epoch)
                append = validate_for_leader(
                    data,
                    next_offset=next_offset,
                    leader_epoch=leader_epoch,
                    now_ms=now,
                    config=self.config,
                    origin=origin,
                )
                if not append.batches:
                    _refuse_fragment(data)
                return self._append(append, origin, transaction_version)
            except AppendError as error:
                raise self._placed(error, next_offset) from None
            except MemoryError as error:
                name_memory(error, self.directory)
                raise
            except StructError:
                # Equal to the latest epoch, and no int.
                leader_epoch_number(leader_epoch)
                raise

    def append_batches(self, data: bytes | bytearray | memoryview, *, leader_epoch: int = MAX_EPOCH) -> AppendInfo:
        """Append batches as a follower: as they were fetched from the leader of `leader_epoch`, offsets kept.

        What is no whole batch at the end is left out, and so is everything from the first batch of a later epoch on.
        Offsets may leave gaps, and never go back. Epochs may, as in logs of old clusters: the higher ones before are
        forgotten then, as in Kafka. Kafka: appendAsFollower.

        Raises what `validate_for_follower` raises, RecordBatchTooLargeError, LogPoisonedError and OSError, with
        nothing appended.
        """
        if self._guard.is_nested():
            self._guard.refuse_nested()
        with self._guard.lock:
            if self._guard.state is not OPEN:
                self._guard.ensure_open()
            if self._flushes_soon:
                ensure_room(self.directory)
            next_offset = self._contents.end[0]
            try:
                if self._contents.current_epoch <= leader_epoch:
                    plain = plain_batch(data, next_offset, self._contents.current_epoch)
                    done = self._append_plain(data, next_offset) if plain is None else self._write_plain(data, plain)
                    if done is not None:
                        return done
                append = validate_for_follower(data, next_offset=next_offset, leader_epoch=leader_epoch)
                return self._append(append, AppendOrigin.REPLICATION, None)
            except AppendError as error:
                raise self._placed(error, next_offset) from None
            except MemoryError as error:
                name_memory(error, self.directory)
                raise
            except TypeError:
                if isinstance(data, _BYTES):
                    whole_number(leader_epoch, "leader_epoch")
                    raise
                raise TypeError(
                    f"batches of type {type(data).__name__} cannot be appended: pass their bytes, one after the other, "
                    "as they were fetched; records of your own go to `append`"
                ) from None

    def _append_plain(self, data: Buffer, next_offset: int) -> AppendInfo | None:
        """Append plain batches; None where they must be looked at closer, or a new segment begin."""
        if len(data) < SEVERAL_BYTES:
            return None
        segment = self._contents.segments.active
        try:
            self._guard.state = ADDING
            info = segment.append_plain(data, next_offset, self._contents.current_epoch, self._clock, self._jitter_ms)
            if info is None:
                self._guard.state = OPEN
                return None
            self._publish(segment, info)
        except BaseException as error:
            self._guard.is_broken_off = True
            self._guard.settle(error)
            raise
        if self._observer is not None:
            self._observer.appended(self.directory, info)
        return info

    def _write_plain(self, data: Buffer, plain: AppendInfo) -> AppendInfo | None:
        """Write one batch that was found to be plain; None where a new segment must begin."""
        segment = self._contents.segments.active
        try:
            self._guard.state = ADDING
            if not segment.append_batch(data, plain, self._clock, self._jitter_ms):
                self._guard.state = OPEN
                return None
            self._publish(segment, plain)
        except BaseException as error:
            self._guard.is_broken_off = True
            self._guard.settle(error)
            raise
        if self._observer is not None:
            self._observer.appended(self.directory, plain)
        return plain

    def _append(self, append: ValidatedAppend, origin: AppendOrigin, transaction_version: int | None) -> AppendInfo:
        data, batches, max_timestamp = append
        if not batches:
            return NOTHING_APPENDED
        size, last_offset = len(data), batches[-1].last_offset
        if size > self.config.segment_bytes:
            self._refuse_size(append)
        producers: ProducerAppend | None = None
        for batch in batches:
            if batch.producer_id != NO_PRODUCER_ID:
                producers = self._contents.producers.prepare(batches, origin, transaction_version=transaction_version)
                break
        if producers is not None and producers.duplicate is not None:
            return self._tell_duplicate(producers.duplicate)
        try:
            self._undo.begin()
            self._guard.state = ADDING
            for batch in batches:
                if batch.leader_epoch != self._contents.current_epoch:
                    self._assign_epoch(batch.leader_epoch, batch.base_offset, magic=batch.magic)
            segment = self._contents.segments.active
            if segment.should_roll(size, max_timestamp, last_offset, self._clock, self._jitter_ms):
                segment = self._roll(append.first_offset if batches[0].magic == 2 else last_offset - MAX_EPOCH)
            segment.append(data, [(batch.size, batch.last_offset, batch.max_timestamp) for batch in batches])
            info: AppendInfo = _build(AppendInfo, (append.first_offset, last_offset, max_timestamp, size, False))
            self._publish(segment, info, producers)
            self._undo.end()
        except BaseException as error:
            self._guard.is_broken_off = True
            self._guard.settle(error)
            raise
        if self._observer is not None:
            self._observer.appended(self.directory, info)
        return info

    def _publish(self, segment: LiveSegment, info: AppendInfo, producers: ProducerAppend | None = None) -> None:
        """Let readers see what was written: the append is done. Flush where so much was."""
        end_offset = info[1] + 1
        if producers is not None:
            # From here on it cannot be taken back.
            self._guard.state = CHANGING
        self._contents.end = end_offset, segment.base_offset, segment.file.size
        try:
            if producers is not None:
                for aborted in self._contents.producers.update(producers):
                    segment.transaction_index.append(aborted)
            self._contents.producers.end_offset = end_offset
            if end_offset - self._contents.recovery_point >= self.config.flush_messages:
                self._flush(end_offset, include_active=True)
        except OSError as error:
            # Even of a full disk: the batches are in the log already, and readers may have seen them.
            self._guard.poison(error)
            raise
        self._guard.state = OPEN

    def _refuse_size(self, append: ValidatedAppend) -> NoReturn:
        raise RecordBatchTooLargeError(
            f"{len(append.data):,} bytes at once are more than a segment of {self.config.segment_bytes:,} takes",
            offset=append.first_offset,
            advice="append fewer batches at once, or set segment_bytes higher",
        )

    def _placed(self, error: AppendError, next_offset: int) -> AppendError:
        offset = next_offset if error.offset is None else error.offset
        return error.placed(file=self.directory, position=error.position, offset=offset)

    def _tell_duplicate(self, known: AppendedBatch) -> AppendInfo:
        info = AppendInfo(
            known.last_offset - known.offset_delta, known.last_offset, known.timestamp, 0, is_duplicate=True
        )
        if self._observer is not None:
            self._observer.appended(self.directory, info)
        return info

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` leads from `start_offset` on: a new leader does so before it writes.

        Kafka: assignEpochStartOffset. Raises InvalidEpochEntryError, and FencedLeaderEpochError below the latest epoch.
        """
        epoch, start_offset = leader_epoch_number(epoch), whole_number(start_offset, "start_offset")
        self._guard.do(ADDING, lambda: self._begin_epoch(epoch, start_offset))

    def _begin_epoch(self, epoch: int, start_offset: int) -> None:
        self._refuse_lower_epoch(epoch)
        self._assign_epoch(epoch, start_offset, magic=2)

    def _refuse_lower_epoch(self, epoch: int) -> None:
        """Refuse a leader whose epoch is over: what it did would make later ones be forgotten."""
        latest = self._contents.epochs.latest
        if latest is not None and epoch < latest.epoch and not self.config.takes_lower_epochs:
            raise FencedLeaderEpochError(
                f"leader epoch {epoch} is over: epoch {latest.epoch} leads from offset {latest.start_offset:,} on",
                file=self.directory,
                offset=self._contents.end[0],
                advice="leave `leader_epoch` out to go on in the latest, or give a higher one",
            )

    def _assign_epoch(self, epoch: int, start_offset: int, *, magic: int) -> None:
        if magic < 2:
            if self._contents.epochs:
                self._contents.epochs.clear_and_flush()
            return
        self._contents.epochs.assign(epoch, start_offset)
        # From here on this epoch's batches change nothing, as long as the log only grows.
        self._contents.current_epoch = epoch if start_offset <= self._contents.end[0] else -1

    def update_high_watermark(self, offset: int) -> int:
        """Move the high watermark, within the log's start and end; return where it is (Kafka: updateHighWatermark).

        Raises LogClosedError, and ReentrantCallError while this thread changes the log.
        """
        if type(offset) is not int:
            offset = whole_number(offset, "offset")
        if self._guard.state is not OPEN and self._guard.is_nested():
            self._guard.refuse_nested()
        with self._guard.lock:
            self._guard.ensure_readable()
            return self._contents.move_high_watermark(offset)

    # --- segments

    def roll(self) -> None:
        """Let a new segment begin at the log's end; an empty one stays the active one."""
        self._guard.do(ADDING, self._roll_unless_empty)

    def _roll_unless_empty(self) -> None:
        if self._contents.segments.active.size or self._contents.segments.active.base_offset < self._contents.end[0]:
            self._roll(self._contents.end[0])

    def _roll(self, expected_offset: int) -> LiveSegment:
        base_offset = max(expected_offset, self._contents.end[0])
        segments = self._contents.segments
        old = segments.active
        if base_offset == old.base_offset:
            return old
        if base_offset < old.base_offset:
            # An append with a gap rolled, and then failed: the log goes on before the empty segment.
            before, self._guard.state = self._guard.state, REMOVING
            segments = self._contents.segments = SegmentList(segments.segments[:-1])
            self._contents.set_end(self._contents.end[0])
            old.remove()
            self._guard.state = before
        else:
            old.deactivate()
        # With the segment's own offset, so that recovery of the segment begins with this snapshot.
        self._contents.producers.end_offset = base_offset
        self._contents.producers.take_snapshot()
        # Before the next segment has a name: a crash could leave that, and a hole in the log before it.
        self._flush(base_offset, include_active=True)
        self._undo.begun_segment = base_offset
        segment = self._create_segment(base_offset)
        self._contents.segments = segments.with_appended(segment)
        self._contents.end = self._contents.end[0], base_offset, 0
        self._jitter_ms = self._draw_jitter()
        if self._observer is not None:
            self._observer.rolled(self.directory, base_offset)
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

    # --- flushing

    def flush(self) -> int:
        """Return once everything appended is on stable storage; return the recovery point, the log's end."""
        if self._guard.is_nested():
            self._guard.refuse_nested()
        with self._guard.lock:
            self._guard.ensure_open()
            try:
                # Each of its steps may be done again, and there is nothing to take back. But no signal handler is to
                # write in between.
                self._guard.state = ADDING
                self._flush(self._contents.end[0], include_active=True)
                self._write_own_checkpoints()
                if self._guard.state is ADDING:
                    self._guard.state = OPEN
            except BaseException as error:
                if self._guard.state is ADDING:
                    self._guard.state = OPEN
                if isinstance(error, OSError):
                    self._guard.poison_unless_full(error)
                name_memory(error, self.directory)
                raise
            return self._contents.recovery_point

    def _flush(self, offset: int, *, include_active: bool) -> None:
        if offset < self._contents.recovery_point or (offset == self._contents.recovery_point and not include_active):
            return
        start = time.perf_counter()
        later = self._contents.segments.from_offset(self._contents.recovery_point)
        segments = [segment for segment in later if segment.base_offset < offset or include_active]
        for segment in segments:
            # Before anything is synced: a disk that is too full for them fails the flush, and not the log.
            segment.save_indexes()
        try:
            for segment in segments:
                segment.flush()
            self._filesystem.fsync_directory(self.directory)
        except OSError as error:
            if not is_limit(error):
                self._guard.poison(error)
            raise
        self._contents.epochs.flush()
        self._contents.recovery_point = offset
        if self._observer is not None:
            self._observer.flushed(self.directory, offset, time.perf_counter() - start)

    def _write_own_checkpoints(self, log_start_offset: int | None = None) -> None:
        if self._own_checkpoints is not None:
            self._own_checkpoints.write(
                recovery_point=self._contents.recovery_point,
                high_watermark=self._contents.high_watermark,
                log_start_offset=self._contents.log_start_offset if log_start_offset is None else log_start_offset,
            )


def _refuse_fragment(data: Buffer) -> NoReturn:
    raise InvalidRecordError(
        f"{len(data):,} bytes hold no whole batch",
        advice="pass records, such as [Record.of(b'value')], or the bytes of one batch, as `encode_batch` returns them",
    )
