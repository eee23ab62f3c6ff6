"""One partition's log, open for writing and reading (Kafka: UnifiedLog)."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from epoch.cache import LeaderEpochFileCache
from epoch.entry import EndOffset
from epoch.filesystem import REAL, FileSystem
from epoch.resource_limits import ensure_room, is_limit, name_memory, refuse_beyond_limit
from logstore.append.append_info import AppendInfo
from logstore.append.encoding import encode_end_transaction
from logstore.arguments import whole_number
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch import MAX_OFFSET
from logstore.batch.control import ControlType, EndTransactionMarker
from logstore.clock import now_ms
from logstore.errors import (
    DirectoryLockedError,
    LogClosedError,
    OffsetOutOfRangeError,
    inherited_log,
    linked_directory,
)
from logstore.files.directory_lock import LOCK_NAME, DirectoryLock
from logstore.files.own_checkpoints import OwnCheckpoints
from logstore.files.owned_filesystem import OwnedFileSystem
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.isolation import Isolation
from logstore.log.log_guard import ADDING, CHANGING, REMOVING
from logstore.log.log_observer import LogObserver
from logstore.log.log_state import LogState
from logstore.log.retention import Condition, exceeds_age, exceeds_size, is_before, select_expired
from logstore.log.timestamp_search import TimestampedOffset
from logstore.log.writable_log import WritableLog
from logstore.log_config import LogConfig
from logstore.producers.producer_replay import rebuild_producers
from logstore.producers.producer_state import ProducerState
from logstore.recovery.log_loader import load_log
from logstore.segment.live_segment import LiveSegment
from logstore.segment.open_files import OpenFiles
from logstore.segment.read_view import ReadView
from logstore.segment.segment_file import is_passing
from logstore.segment.segment_list import SegmentList
from logstore.topic_partition import TopicPartition, parse_directory_name


class Log(WritableLog):
    """An append-only log of record batches, in segments.

    One thread writes at a time (others wait); any number of threads read and wait for nobody. All methods may raise
    OSError. After a failed write or fsync the log is poisoned: it can be read, and refuses writes until it is opened
    again. A full disk only fails the append that it fails; nothing of that is left in the log.

    >>> with Log.open("queue-0") as log:
    ...     log.append([Record.of(b"first")])
    ...     [record.value for record in log.read(0, 1 << 20).records()]
    [b'first']
    """

    _directory_lock: DirectoryLock | None = None
    """A log that stands alone has one; `LogDirectory` locks the whole root."""
    _is_in_directory = False
    """Whether it is one of a `LogDirectory`, which has to know what takes its place."""
    _disk: FileSystem = REAL
    """What the log was opened with."""
    _is_given_up = False
    """Whether `recover` has closed the log, and what takes its place is not open yet."""
    is_complete = False
    """Whether the log was closed in order, with all on stable storage."""

    @classmethod
    def open(
        cls,
        directory: str | os.PathLike[str],
        config: LogConfig | None = None,
        *,
        checkpoints: PartitionCheckpoints | None = None,
        in_directory: bool = False,
        filesystem: FileSystem = REAL,
        clock: Callable[[], int] = now_ms,
        observer: LogObserver | None = None,
        open_files: OpenFiles | None = None,
        progress: Callable[[int], object] = lambda _: None,
    ) -> Self:
        """Open the log in a directory named `topic-partition`, made where it is missing; recover it where needed.

        `checkpoints` is what a root's checkpoint files say (`LogDirectory` reads and writes them): the caller holds the
        lock of that root. Without them the log stands alone: it keeps such files itself, and locks the directory.
        `in_directory` says that the log is one of a `LogDirectory`, which recovers it. `clock` gives milliseconds since
        1970 UTC. `progress` is told how many more bytes are recovered.

        Raises InvalidDirectoryNameError, SegmentTooLargeError and OSError; NotALogDirectoryError for a symbolic link;
        DirectoryLockedError where a log that stands alone is open already, or its parent directory is locked as a root.
        """
        path = Path(directory).absolute()
        if path.is_symlink():
            raise linked_directory(path)
        disk, filesystem = filesystem, OwnedFileSystem(filesystem, inherited_log(path))
        config = LogConfig() if config is None else config
        if not isinstance(config, LogConfig):
            raise TypeError(f"the configuration is of type {type(config).__name__}: pass LogConfig(segment_bytes=...)")
        topic_partition = parse_directory_name(path.name).topic_partition
        own = OwnCheckpoints(path, topic_partition, filesystem) if checkpoints is None else None
        if not path.is_dir():
            filesystem.mkdir(path)
            filesystem.fsync_directory(path.parent)
        lock = DirectoryLock(path / LOCK_NAME) if own is not None else None
        loaded = None
        try:
            if lock is not None:
                _lock_alone(lock, path)
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
                own_checkpoints=own,
                recovery_advice=_recovery_advice(topic_partition if in_directory else None),
            )
            log._disk = disk
            log._is_in_directory = in_directory
            log._directory_lock = lock
            log.update_high_watermark(known.high_watermark or 0)
            if observer is not None:
                observer.recovered(path, loaded.report)
            return log  # noqa: TRY300  here, as something may be raised until it returns
        except BaseException as error:
            for segment in loaded.segments if loaded is not None else ():
                segment.abandon()
            if lock is not None:
                lock.release()
            if isinstance(error, OSError) and is_limit(error):
                refuse_beyond_limit(error, path)
            name_memory(error, path)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.failure is not None:
            self.abandon()
            return
        try:
            self.close()
        except BaseException:
            self.abandon()
            raise

    @property
    def failure(self) -> OSError | None:
        """What poisoned the log; None while it can be written.

        That is a write or fsync that failed; LogPoisonedError where a call that cannot be taken back was broken off, be
        it for want of space on the disk.
        """
        return self._guard.failure

    @property
    def is_in_call(self) -> bool:
        """Whether this thread is in the middle of a call that changes the log, and a signal handler or observer asks.

        Each further one raises ReentrantCallError until that has come to its end.
        """
        return self._guard.is_nested()

    # --- what it holds

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.directory}, offsets={self._contents.log_start_offset}..{self.log_end_offset})"
        )

    @property
    def log_start_offset(self) -> int:
        """The first offset that may be read."""
        return self._contents.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets (LEO)."""
        return self._contents.end[0]

    @property
    def high_watermark(self) -> int:
        """All in-sync replicas have what is below it (HW); whoever leads tells by `update_high_watermark`."""
        return self._contents.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """All transactions with records below it are decided (LSO); never above the high watermark."""
        return self._contents.last_stable_offset

    @property
    def recovery_point(self) -> int:
        """Everything below it is on stable storage."""
        return self._contents.recovery_point

    @property
    def epochs(self) -> LeaderEpochFileCache:
        """Which leader wrote which offsets."""
        return self._contents.epochs

    @property
    def segments(self) -> tuple[LiveSegment, ...]:
        """The segments at this moment, by base offset."""
        return self._contents.segments.segments

    @property
    def size(self) -> int:
        """Bytes of all segments' `.log` files."""
        return self._contents.segments.size

    # --- reading

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        isolation: Isolation = Isolation.LOG_END,
        min_one_batch: bool = True,
    ) -> ReadView:
        """Return whole batches from the one that holds `offset` on, up to `max_bytes`, of one segment; no copies.

        With `min_one_batch` the first batch comes even where it is larger. An offset at the end, or beyond what
        `isolation` lets see, gets an empty answer; raises OffsetOutOfRangeError before the log's start or after its
        end, TypeError for what is no whole number, ValueError for negative `max_bytes`, LogClosedError,
        LogPoisonedError where a truncation was broken off, and OSError.
        """
        return self._reader.read(offset, max_bytes, isolation, min_one_batch)

    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        """Find the first record that is not before `timestamp`, in milliseconds since 1970 UTC; None without any.

        LATEST (-1) is the log's end, EARLIEST (-2) its start, LARGEST (-3) the record with the largest timestamp.
        Kafka: fetchOffsetByTimestamp. Raises what `RecordBatch.records` raises, LogClosedError, and OSError.
        """
        return self._reader.offset_for_timestamp(timestamp)

    def end_offset_for_epoch(self, epoch: int) -> EndOffset | None:
        """Return the largest epoch up to `epoch` that wrote here, and where it ends; None where nobody knows.

        Raises LogClosedError; ValueError for what is no epoch, -1 aside, which nobody knows.
        """
        return self._reader.end_offset_for_epoch(epoch)

    # --- transactions

    def append_end_transaction(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        commit: bool,
        leader_epoch: int | None = None,
        coordinator_epoch: int = 0,
        transaction_version: int = 1,
    ) -> AppendInfo:
        """Append the marker that commits or aborts a producer's transaction, as the transaction coordinator does.

        `coordinator_epoch` is how often the coordinator has moved: the log refuses markers of an older one. With
        `transaction_version` 2 each transaction has a producer epoch of its own (KIP-890). Kafka: WriteTxnMarkers.

        Raises InvalidProducerEpochError, TransactionCoordinatorFencedError, and what `append` raises.

        >>> log.append_end_transaction(7, 0, commit=True, leader_epoch=3)
        """
        kind = ControlType.COMMIT if commit else ControlType.ABORT
        return self.append(
            encode_end_transaction(
                EndTransactionMarker(kind, 0, coordinator_epoch), producer_id, producer_epoch, self._clock()
            ),
            leader_epoch=leader_epoch,
            origin=AppendOrigin.COORDINATOR,
            transaction_version=transaction_version,
        )

    # --- moving the ends

    def truncate_to(self, offset: int) -> bool:
        """Let the log end at `offset`; return whether it ended later (Kafka: truncateTo).

        A batch that reaches `offset` goes as a whole, and the log ends at `offset` all the same: with a gap. An
        offset before the first segment begins the log anew there. Raises ValueError for a negative offset.
        """
        offset = whole_number(offset, "offset")
        if offset < 0:
            raise ValueError(f"a log cannot end at offset {offset}")
        return self._guard.do(ADDING, lambda: self._end_at(offset))

    def _end_at(self, offset: int) -> bool:
        if offset >= self.log_end_offset:
            self._forget_leaders_from_the_end_on()
            return False
        ensure_room(self.directory)
        if offset < self.segments[0].base_offset:
            self._drop_all(offset, offset)
        else:
            self._cut_at(offset)
        return True

    def _forget_leaders_from_the_end_on(self) -> None:
        """Make room for another leader: one that wrote nothing may have left an entry at the end."""
        self._contents.epochs.truncate_to(self.log_end_offset)
        self._contents.current_epoch = -1

    def _cut_at(self, offset: int) -> None:
        # All that a limit can fail comes first: nothing has changed then.
        kept = SegmentList([segment for segment in self.segments if segment.base_offset <= offset])
        try:
            kept.active.prepare_truncation(offset)
            producers = self._contents.producers.successor()
            self._rebuild(producers, kept, min(self._contents.log_start_offset, offset), offset)
        except OSError as error:
            refuse_beyond_limit(error, self.directory)
            raise
        self._guard.state = CHANGING
        self._truncate(lambda: self._truncate_to(offset, kept, producers))

    def _truncate(self, cut: Callable[[], None]) -> None:
        before = self.size
        self._guard.remove(cut)
        if self._observer is not None:
            self._observer.truncated(self.directory, self.log_end_offset, before - self.size)

    def _truncate_to(self, offset: int, kept: SegmentList, producers: ProducerState) -> None:
        self._contents.log_start_offset = min(self._contents.log_start_offset, offset)
        dropped = self._drop_segments_after(kept)
        self._contents.producers = producers.take_place()
        if dropped:
            # Before the cut: whatever a crash leaves of this has no hole. After the snapshot, which is synced too:
            # where file systems have a journal, one of its commits does for both.
            self._filesystem.fsync_directory(self.directory)
        self.segments[-1].truncate_to(offset, self._clock())
        self._contents.set_end(offset)
        self._contents.epochs.truncate_to(offset)
        self._finish_truncation()

    def _drop_segments_after(self, kept: SegmentList) -> int:
        """Rename the segments that follow those that are kept, the last one first; return how many."""
        dropped = self.segments[len(kept) :]
        self._contents.segments = kept
        self._deleted.add(reversed(dropped))
        return len(dropped)

    def _rebuild(self, producers: ProducerState, segments: SegmentList, start: int, end: int) -> None:
        rebuild_producers(producers, segments, log_start_offset=start, log_end_offset=end, now_ms=self._clock())

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Drop everything; the log goes on at `offset` (Kafka: truncateFullyAndStartAt).

        `log_start_offset` is what a leader with tiered storage told, at most `offset`; `offset` without it. Raises
        ValueError where that cannot be.
        """
        offset = whole_number(offset, "offset")
        start = offset if log_start_offset is None else whole_number(log_start_offset, "log_start_offset")
        if not 0 <= offset < MAX_OFFSET:
            raise ValueError(f"a log cannot go on at offset {offset:,}: pass one from 0 on and below {MAX_OFFSET:,}")
        if not 0 <= start <= offset:
            raise ValueError(f"a log cannot start at {start:,} and go on at {offset:,}: pass one from 0 to {offset:,}")
        self._guard.do(ADDING, lambda: self._drop_all(offset, start), needs_room=True)

    def _drop_all(self, offset: int, log_start_offset: int) -> None:
        self._guard.state = CHANGING
        self._truncate(lambda: self._begin_anew(offset, log_start_offset))

    def _begin_anew(self, offset: int, log_start_offset: int) -> None:
        self._deleted.add(reversed(self.segments))
        self._contents.segments = SegmentList([self._create_segment(offset)])
        self._contents.epochs.clear_and_flush()
        self._contents.producers.truncate_fully_and_start_at(offset)
        self._contents.log_start_offset = log_start_offset
        self._contents.set_end(offset)
        self._contents.high_watermark = offset
        self._rebuild(self._contents.producers, self._contents.segments, log_start_offset, offset)
        self._finish_truncation()

    def _finish_truncation(self) -> None:
        self._contents.current_epoch = -1
        self._contents.move_high_watermark(self._contents.high_watermark)
        self._write_own_checkpoints()

    def delete_records(self, before: int) -> bool:
        """Let the log start at `before`; return whether it started earlier (Kafka: maybeIncrementLogStartOffset).

        Segments that lie below it are deleted by `delete_old_segments`. Raises OffsetOutOfRangeError above the high
        watermark.
        """
        before = whole_number(before, "before")
        return self._guard.do(ADDING, lambda: self._delete_records(before), needs_room=True)

    def _delete_records(self, before: int) -> bool:
        high_watermark = self._contents.high_watermark
        if before > high_watermark:
            raise OffsetOutOfRangeError(
                f"records can be deleted up to the high watermark {high_watermark:,}, and not up to {before:,}",
                file=self.directory,
                offset=before,
                advice="what is above it may still be truncated; wait until the high watermark has passed it",
            )
        if before <= self._contents.log_start_offset:
            return False
        # All that a full disk can fail comes first: nothing has changed in memory then.
        self._flush(before, include_active=False)
        self._write_own_checkpoints(before)
        self._guard.state = CHANGING
        self._contents.move_start(before)
        return True

    def delete_old_segments(self) -> int:
        """Delete what lies below the log's start, and what `retention_bytes` and `retention_ms` no longer keep.

        Returns how many segments that were (Kafka: deleteOldSegments).
        """
        return self._guard.do(ADDING, self._delete_old_segments, needs_room=True)

    def _delete_old_segments(self) -> int:
        deleted = self._delete_segments(is_before(self._contents.log_start_offset))
        if self.config.is_deleted_by_retention:
            deleted += self._delete_segments(exceeds_size(self.size, self.config))
            deleted += self._delete_segments(exceeds_age(self._clock(), self.config))
        self._deleted.remove_due()
        return deleted

    def _delete_segments(self, condition: Condition) -> int:
        expired = select_expired(
            self.segments, condition, high_watermark=self._contents.high_watermark, log_end_offset=self.log_end_offset
        )
        if not expired:
            return 0
        if len(expired) == len(self.segments):
            self._roll(self.log_end_offset)
        kept = self.segments[len(expired) :]
        # All that a full disk can fail comes first: nothing has changed then.
        self._flush(kept[0].base_offset, include_active=False)
        self._guard.remove(lambda: self._drop_first_segments(expired, kept))
        self._note_start()
        if self._observer is not None:
            for segment in expired:
                self._observer.deleted(self.directory, segment.base_offset, segment.size)
        return len(expired)

    def _drop_first_segments(self, expired: Sequence[LiveSegment], kept: Sequence[LiveSegment]) -> None:
        self._contents.segments = SegmentList(kept)
        if kept[0].base_offset > self._contents.log_start_offset:
            self._contents.move_start(kept[0].base_offset)
        self._deleted.add(expired)
        for segment in expired:
            self._contents.producers.delete_snapshot(segment.base_offset)
        self._filesystem.fsync_directory(self.directory)

    def _note_start(self) -> None:
        """Write where the log begins; without space for that its first segment tells, and some has just been made."""
        try:
            self._write_own_checkpoints()
        except OSError as error:
            if not is_passing(error):
                raise

    # --- closing

    def expire_producers(self) -> None:
        """Forget producers that have been idle for `producer_id_expiration_ms`."""
        if self._guard.is_nested():
            self._guard.refuse_nested()
        with self._guard.lock:
            self._guard.ensure_readable()
            self._contents.producers.expire(self._clock())

    def close(self) -> None:
        """Flush, and let go of the files; the next `open` needs no recovery. Closing again does nothing.

        A forked process closes its copy of a log by this too: nothing happens to the log.
        """
        if self._guard.is_inherited:
            return
        if self._guard.is_nested():
            self._guard.refuse_nested()
        with self._guard.lock:
            if self._guard.state is LogState.CLOSED:
                self._let_go()  # a call that was broken off may not have come to that
                return
            self._guard.do_locked(ADDING, self._complete)
            # Even a full disk poisons it now: the mark of an orderly stop may be there, and nothing must follow it.
            self._guard.do_locked(REMOVING, self._release)
            self._deleted.close()
            self._let_go()

    def _complete(self) -> None:
        """Bring all files up to date."""
        self._contents.producers.take_snapshot()
        self.segments[-1].deactivate()
        self._flush(self.log_end_offset, include_active=True)

    def _release(self) -> None:
        for segment in self.segments:
            segment.close()
        self._write_own_checkpoints()
        if self._own_checkpoints is not None:
            self._own_checkpoints.mark_closed()
        self.is_complete = True

    def abandon(self) -> None:
        """Let go of the files and write nothing, as if the process had died (Kafka: closeHandlers).

        For a log whose disk has failed: the next `open` recovers it. A forked process does nothing to the log by this.
        """
        if self._guard.is_inherited:
            return
        if self._guard.is_nested():
            self._guard.refuse_nested()
        with self._guard.lock:
            self._abandon()

    def _abandon(self) -> None:
        self._guard.state = LogState.CLOSED
        try:
            for segment in self.segments:
                segment.abandon()
            self._deleted.close()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self._guard.state = LogState.CLOSED
        self._contents.epochs.close(self._guard.refuse)
        if self._directory_lock is not None:
            self._directory_lock.release()

    @property
    def recovery_advice(self) -> str:
        """How to go on where the log is poisoned."""
        return self._guard.recovery_advice

    def recover(self) -> "Log":
        """Let go of a poisoned log and return what takes its place: checked from the recovery point on.

        Use what is returned: this log stays closed. Where that is broken off, the next call goes on with it. Raises as
        `Log.open` does; LogClosedError in a forked process, and where the log was closed or its directory is gone;
        DirectoryLockedError for a log of a `LogDirectory`, which has a `recover` of its own.

        >>> log = log.recover()
        """
        if self._guard.is_inherited:
            self._guard.refuse()
        if self._guard.is_nested():
            self._guard.refuse_nested()
        successor: Log | None = None
        try:
            with self._guard.lock:
                self._ensure_recoverable()
                self._is_given_up = True
                self._abandon()
                known = self._known_for_successor()
                successor = Log.open(
                    self.directory,
                    self.config,
                    checkpoints=known if self._own_checkpoints is None else None,
                    filesystem=self._disk,
                    clock=self._clock,
                    observer=self._observer,
                    open_files=self._open_files,
                )
                self._is_given_up = False
            return successor  # noqa: TRY300  here, as something may be raised until it returns
        except BaseException:
            if successor is not None:  # nobody else knows of it
                self._is_given_up = True
                successor.abandon()
            raise

    def _ensure_recoverable(self) -> None:
        if self._guard.state is LogState.CLOSED and not self._is_given_up:
            self._guard.refuse()
        if self._is_in_directory:
            raise DirectoryLockedError(
                "the log is one of a LogDirectory, which has to know what takes its place",
                file=self.directory,
                advice=self.recovery_advice,
            )

    def give_up(self) -> PartitionCheckpoints:
        """Abandon the log for another that is to take its place; return what that one has to know.

        Raises LogClosedError where its directory is gone: there it would begin as a new one.
        """
        self.abandon()
        return self._known_for_successor()

    def _known_for_successor(self) -> PartitionCheckpoints:
        if not self.directory.is_dir():
            raise LogClosedError(
                "the log was deleted", file=self.directory, advice="create it anew; nothing is left to be recovered"
            )
        return PartitionCheckpoints(
            recovery_point=self._contents.recovery_point,
            high_watermark=self._contents.high_watermark,
            log_start_offset=self._contents.log_start_offset,
        )


def _recovery_advice(partition: TopicPartition | None) -> str:
    """Say how to go on where the log is poisoned: one of a `LogDirectory` goes on where the directory knows of it."""
    if partition is None:
        return "go on with `log = log.recover()`; or `abandon()` it, and open the log again"
    return f"go on with `log = directory.recover({partition!r})`, `directory` being its LogDirectory"


def _lock_alone(lock: DirectoryLock, directory: Path) -> None:
    """Lock the directory of a log that stands alone, and not in a root that is somebody's.

    In this order: who locks the root looks at the logs' own locks afterwards, so that one of the two notices.
    """
    lock.take()
    try:
        DirectoryLock.ensure_free(directory.parent)
    except BaseException:
        lock.withdraw()
        raise
