"""One partition's log, open for writing and reading (Kafka: UnifiedLog)."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, overload

from epoch.base.renamed import warn_renamed
from epoch.filesystem import REAL
from epoch.history import MAX_EPOCH, MAX_OFFSET
from logstore import batch as formats
from logstore import log
from logstore.append.encoding import encode_end_transaction
from logstore.arguments import ensure_bool, leader_epoch_number, number_within, whole_number
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.compression.codec import Codec
from logstore.clock import now_ms
from logstore.errors import DirectoryLockedError, LogClosedError, inherited_log, linked_directory
from logstore.files.only_copy.space_reserve import SpaceReserve
from logstore.files.owned_filesystem import OwnedFileSystem
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log import durable, state
from logstore.log.appender import Appender
from logstore.log.deleted_segments import DeletedSegments
from logstore.log.flusher import Flusher
from logstore.log.leadership import Leadership
from logstore.log.log_closing import LogClosing
from logstore.log.log_opening import LogOpening, ignore_progress, refuse_to_readers
from logstore.log.observers.logging_observer import drain
from logstore.log.readable_log import ReadableLog
from logstore.log.retention import Retention, default_retention_ms
from logstore.log.segment_roller import SegmentRoller
from logstore.log.state.compaction_turn import CompactionTurn
from logstore.log.state.leader_epochs import LeaderEpochs
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment, ignore_shortage
from logstore.log.state.log_guard import ADDING, CLOSED, OPEN, LogGuard
from logstore.log.state.on_demand import OnDemand
from logstore.log.state.undo import Undo
from logstore.log.truncation import Truncation
from logstore.log_config import DEDUPE_BUFFER_BYTES, MAX_INT64, POLL_SECONDS, LogConfig
from logstore.recovery.damage_policy import DamagePolicy
from logstore.segment.open_files import open_files_of_process

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from concurrent.futures import Future
    from contextlib import AbstractContextManager
    from types import TracebackType

    from epoch.filesystem import FileSystem
    from logstore.append.append_info import AppendInfo
    from logstore.batch.batch_template import BatchTemplate
    from logstore.compaction.compaction_report import CompactionReport
    from logstore.files.directory_lock import DirectoryLock
    from logstore.files.only_copy.promised_offsets import PromisedOffsets
    from logstore.files.own_checkpoints import OwnCheckpoints
    from logstore.log.backup.log_backup import LogBackup, LogBackups
    from logstore.log.compaction import Compaction
    from logstore.log.durable.durable_append import DurableAppend
    from logstore.log.leadership import Records
    from logstore.log.log_producer import LogProducer
    from logstore.log.observers.log_observer import LogObserver
    from logstore.log.retention import Keep
    from logstore.log.state.root_claims import AnnouncedCut, RootClaims
    from logstore.offline.live.read_only_log import ReadOnlyLog
    from logstore.recovery.damage_policy import Damage
    from logstore.recovery.loaded_log import LoadedLog
    from logstore.recovery.recovery_report import RecoveryReport
    from logstore.segment.open_files import OpenFiles
    from logstore.topic_partition import TopicPartition


class Log(ReadableLog):
    """An append-only log of record batches, in segments.

    One thread writes at a time (others wait); any number of threads read without waiting. All methods may raise
    OSError. After a failed write or fsync the log is poisoned: it can be read, but refuses writes until it is opened
    again. If the disk is full, only that append fails; it leaves nothing in the log.

    >>> with Log.open("queue-0") as log:
    ...     log.append([Record.of(b"first")])
    ...     [record.value for record in log.records()]
    [b'first']
    """

    def __init__(
        self,
        environment: LogEnvironment,
        loaded: LoadedLog,
        *,
        topic_partition: TopicPartition,
        own_checkpoints: OwnCheckpoints | None,
        promised: PromisedOffsets | None,
        directory_lock: DirectoryLock | None,
        in_directory: bool,
        disk: FileSystem,
    ) -> None:
        """Create a log from what `load_log` found; see `open`."""
        self.topic_partition: TopicPartition = topic_partition
        """Which partition it is; of a log whose directory has another name, 0 of a topic that is called as that."""
        self.report: RecoveryReport = loaded.report
        """What opening the log found and did."""
        self._own_checkpoints = own_checkpoints
        """A log that stands alone has them; `LogDirectory` keeps them for the whole root."""
        self._is_in_directory = in_directory
        """Whether it is one of a `LogDirectory`, which has to know what takes its place."""
        self._disk = disk
        """What the log was opened with."""
        self._is_given_up = False
        """Whether `recover` has closed the log, and what takes its place is not open yet."""
        contents = LogContents(loaded)
        undo = Undo(environment, contents)
        advice = _recovery_advice(self.topic_partition if in_directory else None)
        guard = LogGuard(environment, contents, undo, advice)
        deleted = self._deleted = DeletedSegments(environment)
        epochs = self._leader_epochs = LeaderEpochs(environment, contents)
        flusher = self._flusher = Flusher(environment, contents, guard, own_checkpoints, promised)
        epochs.note = flusher.note_small_files
        roller = self._roller = SegmentRoller(environment, contents, guard, undo, flusher)
        super().__init__(environment, contents, guard, flusher)
        self._appender = Appender(environment, contents, guard, undo, epochs, roller)
        self._durable_appends = OnDemand(
            lambda: durable.durable_appends.DurableAppends(
                self._flush_or_be_closed, lambda: environment.config, guard.ensure_own
            )
        )
        self._truncation = Truncation(environment, contents, guard, epochs, flusher, roller, deleted)
        self._retention = Retention(environment, contents, guard, flusher, roller, deleted)
        self._compaction_turn = CompactionTurn()
        self._producers = OnDemand(
            lambda: log.log_producer.LogProducers(self, lambda: contents.producers.producers, guard.ensure_may_begin)
        )
        self._closing = LogClosing(contents, guard, flusher, deleted, own_checkpoints, directory_lock)

    @overload
    @classmethod
    def open(
        cls,
        directory: str | os.PathLike[str],
        config: LogConfig | None = None,
        *,
        read_only: Literal[False] = False,
        keep: Keep | None = None,
        checkpoints: PartitionCheckpoints | None = None,
        in_directory: bool = False,
        replicated: bool = False,
        damage: Damage = "raise",
        check_all: bool = False,
        filesystem: FileSystem = REAL,
        clock: Callable[[], int] = now_ms,
        observer: LogObserver | None = None,
        open_files: OpenFiles | None = None,
        reserve: SpaceReserve | None = None,
        out_of_space: Callable[[OSError], object] = ignore_shortage,
        root_claims: RootClaims | None = None,
        progress: Callable[[int], object] = ignore_progress,
    ) -> Self: ...

    @overload
    @classmethod
    def open(
        cls, directory: str | os.PathLike[str], *, read_only: Literal[True], poll_seconds: float = POLL_SECONDS
    ) -> ReadOnlyLog: ...

    @classmethod
    def open(
        cls,
        directory: str | os.PathLike[str],
        config: LogConfig | None = None,
        *,
        read_only: bool = False,
        poll_seconds: float | None = None,
        keep: Keep | None = None,
        checkpoints: PartitionCheckpoints | None = None,
        in_directory: bool = False,
        replicated: bool = False,
        damage: Damage = "raise",
        check_all: bool = False,
        filesystem: FileSystem = REAL,
        clock: Callable[[], int] = now_ms,
        observer: LogObserver | None = None,
        open_files: OpenFiles | None = None,
        reserve: SpaceReserve | None = None,
        out_of_space: Callable[[OSError], object] = ignore_shortage,
        root_claims: RootClaims | None = None,
        progress: Callable[[int], object] = ignore_progress,
    ) -> Self | ReadOnlyLog:
        """Open the log in a directory, creating it if missing; recover it if needed.

        The directory may have any name; where brokers and roots are to know the log, that is `topic-partition`.

        `checkpoints` are the offsets in a root's checkpoint files (`LogDirectory` reads and writes them): the caller
        holds the lock of that root. Without them the log stands alone: it keeps such files itself, and locks the
        directory. `keep` says how long it keeps records where `LogConfig.retention_ms`, which wins, is not set:
        "forever", a timedelta, or milliseconds; by default for ever, with `replicated` for Kafka's 7 days.
        `in_directory` marks a log of a `LogDirectory`, which recovers it. `replicated` says that other nodes have
        copies of the log, as of a broker's: recovery then ends it at the first damage, as Kafka's does, and who leads
        or follows moves its high watermark, which otherwise follows the flushed end.

        `damage` says what becomes of a log that is damaged below its recovery point: by default it is refused; "hole"
        keeps all that can be read, "cut" ends it at the damage, and both set aside in files what they take out. A
        replicated log is cut by default; "cut" sets aside first what that takes, and "hold" refuses the log. An open
        looks for damage where a crash may have left it; with `check_all` it checks each batch of the log, as long as
        that takes, so that what a reader has come across is found, too.

        `clock` returns milliseconds since 1970 UTC. `progress` is called with the number of bytes recovered since the
        last call. `reserve` is space that a root keeps for a full disk; a log that stands alone keeps its own.
        `out_of_space` is called where a call finds the disk full, with the error and with the log's lock held: it must
        be quick, and not raise. `root_claims` are that root's checkpoint files, which are to claim no more of a
        replicated log than a truncation leaves.

        With `read_only` it is opened as `reader` opens it, which takes `poll_seconds` and nothing else.

        Raises DamagedLogError, as `damage` says; InvalidDirectoryNameError, SegmentTooLargeError and OSError;
        NotALogDirectoryError for a symbolic link, and for a root of logs;
        DirectoryLockedError if a log that stands alone is already open, or if its parent directory is locked as a root;
        TypeError for arguments that do not go together; ValueError for `flush_ms` in a log that stands alone.
        """
        ensure_bool(read_only, "read_only")
        if read_only:
            refuse_to_readers(
                config=config is not None,
                keep=keep is not None,
                checkpoints=checkpoints is not None,
                in_directory=in_directory,
                replicated=replicated is not False,
                damage=damage != "raise",
                check_all=check_all is not False,
                filesystem=filesystem is not REAL,
                clock=clock is not now_ms,
                observer=observer is not None,
                open_files=open_files is not None,
                reserve=reserve is not None,
                out_of_space=out_of_space is not ignore_shortage,
                root_claims=root_claims is not None,
                progress=progress is not ignore_progress,
            )
            return cls.reader(directory, poll_seconds=POLL_SECONDS if poll_seconds is None else poll_seconds)
        ensure_bool(check_all, "check_all")
        if poll_seconds is not None:
            raise TypeError("poll_seconds is for a log that is only read: pass read_only=True with it")
        path = Path(directory).absolute()
        if path.is_symlink():
            raise linked_directory(path)
        config = LogConfig() if config is None else config
        if not isinstance(config, LogConfig):
            raise TypeError(f"the configuration is of type {type(config).__name__}: pass LogConfig(segment_bytes=...)")
        stands_alone = checkpoints is None
        owned = OwnedFileSystem(filesystem, inherited_log(path))
        environment = LogEnvironment(
            path,
            config,
            owned,
            clock,
            observer,
            open_files_of_process() if stands_alone and open_files is None else open_files,
            out_of_space,
            DamagePolicy.of(damage, replicated=replicated),
            stands_alone=stands_alone,
            default_retention_ms=default_retention_ms(keep, replicated=replicated),
            reserve=SpaceReserve(path, owned) if stands_alone else reserve,
            root_claims=root_claims,
        )
        opening = LogOpening(environment, checkpoints)
        loaded = None
        try:
            opening.make_directory()
            opening.lock()
            known = opening.known()
            loaded = opening.load(known, progress, check_all=check_all)
            opening.note_promise(loaded)
            opening.mark_open()
            log = cls(
                environment,
                loaded,
                topic_partition=opening.topic_partition,
                own_checkpoints=opening.own_checkpoints,
                promised=opening.promised,
                directory_lock=opening.directory_lock,
                in_directory=in_directory,
                disk=filesystem,
            )
            log._contents.set_cleaner_offset(known.cleaner_offset)
            # That of a log that has followed others is for their leader to say.
            follows_flush = not (replicated or log._contents.needs_epoch)
            log._contents.begin_high_watermark(known.high_watermark or 0, follows_flush=follows_flush)
            loaded.report.high_watermark_before = known.high_watermark
            environment.events.recovered(path, loaded.report)
            return log  # noqa: TRY300  here, as something may be raised until it returns
        except BaseException as error:
            opening.take_back(loaded, error)
            raise

    @staticmethod
    def reader(directory: str | os.PathLike[str], *, poll_seconds: float = POLL_SECONDS) -> ReadOnlyLog:
        """Open a log only to read it, beside the process that writes it, or a dead broker's: see `ReadOnlyLog`.

        Nothing is locked, recovered or written. Its tails look for more every `poll_seconds`. Raises
        NotALogDirectoryError, ValueError for seconds that are not above 0, and OSError.
        """
        from logstore.offline.live.read_only_log import ReadOnlyLog  # noqa: PLC0415  start-up time

        return ReadOnlyLog.open(directory, poll_seconds=poll_seconds)

    @staticmethod
    def open_read_only(directory: str | os.PathLike[str], *, poll_seconds: float = POLL_SECONDS) -> ReadOnlyLog:
        """Do as `reader` does (deprecated)."""
        warn_renamed("Log.open_read_only", "reader")
        return Log.reader(directory, poll_seconds=poll_seconds)

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
        """The error that poisoned the log; None while it can be written.

        That is the OSError of a failed write or fsync, or a LogPoisonedError if a call that cannot be undone was
        interrupted, for example because the disk was full.
        """
        return self._guard.failure

    @property
    def is_complete(self) -> bool:
        """Whether the log was closed in order, with all on stable storage."""
        return self._closing.is_complete

    @property
    def is_in_call(self) -> bool:
        """Whether this thread is in a call that changes the log: true only in a signal handler or observer.

        Further calls that change the log raise ReentrantCallError until that one returns; within a compaction, most go.
        """
        return self._guard.is_nested() or self._compaction_turn.is_mine

    # --- appending

    @overload
    def append(
        self,
        records: Records,
        *,
        leader_epoch: int | None = None,
        template: BatchTemplate | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
        durable: Literal[False] = False,
    ) -> AppendInfo: ...

    @overload
    def append(
        self,
        records: Records,
        *,
        leader_epoch: int | None = None,
        template: BatchTemplate | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
        durable: Literal[True],
    ) -> Future[AppendInfo]: ...

    def append(
        self,
        records: Records,
        *,
        leader_epoch: int | None = None,
        template: BatchTemplate | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
        durable: bool = False,
    ) -> AppendInfo | Future[AppendInfo]:
        """Append one batch as the leader, which assigns offsets, epoch and, with LogAppendTime, timestamps.

        `leader_epoch` defaults to the latest epoch, in a new log to 0, and to a new one where records were cut off or
        may have been lost: the epochs up to that one are over then, but for the latest that ever was here, in which its
        own leader may go on. A log that has followed another leader has no default: pass it, or use a `Leadership`.

        Records are encoded according to `template` (codec, producer); bytes in a list are the values of records without
        keys, written now. Bytes that stand alone are a batch as a producer sends it, with base offset 0. Kafka:
        appendAsLeader.

        >>> log.append([b"first", b"second", Record.of(b"third", "key")]).last_offset
        2

        With `durable` the records are in the log when this returns, and a future is returned that is done once they are
        on stable storage; one flush serves all that wait (group commit). It has the error of a flush that fails. Its
        callbacks run in the thread that flushes; in asyncio await `asyncio.wrap_future(...)` of it.

        >>> log.append([Record.of(b"paid")], durable=True).result().last_offset
        0

        Raises FencedLeaderEpochError for an epoch that is over, or where one is missing, InvalidRecordError for bytes
        that hold no whole batch, what `validate_for_leader` and `ProducerState.prepare` raise,
        RecordBatchTooLargeError, LogPoisonedError and OSError, with nothing appended.
        """
        if durable is not False:
            ensure_bool(durable, "durable")
        info = self._appender.append(records, leader_epoch, template, origin, transaction_version)
        if self._environment.flushes_by_count:
            self._flush_by_count()
        return self._durable_appends.get().when_synced(info) if durable else info

    def submit(
        self, records: Records, *, leader_epoch: int | None = None, template: BatchTemplate | None = None
    ) -> tuple[int, DurableAppend]:
        """Append one batch as `append` does; return its first offset, and what is done once it is on stable storage.

        Readers see the records at once. One flush serves all that wait (group commit), and what it raises reaches each
        of them. Raises what `append` raises, with nothing appended.

        >>> offset, done = log.submit([b"paid"])
        >>> done.result(timeout=10).last_offset
        0
        """
        appended = self.append(records, leader_epoch=leader_epoch, template=template)
        return appended.first_offset, self._durable_appends.get().submitted(appended)

    def append_batches(self, data: bytes | bytearray | memoryview, *, leader_epoch: int = MAX_EPOCH) -> AppendInfo:
        """Append batches as a follower: as they were fetched from the leader of `leader_epoch`, offsets kept.

        From then on, also once it is opened again, `append` needs the epoch: the latest may be another's.
        An incomplete batch at the end is ignored, and so is everything from the first batch of a later epoch on.
        Offsets may have gaps but must ascend. Epochs may go back, as in logs of old clusters: this removes the higher
        ones from the history, as in Kafka. Kafka: appendAsFollower.

        Raises what `validate_for_follower` raises, RecordBatchTooLargeError, LogPoisonedError and OSError, with
        nothing appended.
        """
        info = self._appender.append_batches(data, leader_epoch)
        if self._environment.flushes_by_count:
            self._flush_by_count()
        return info

    def _flush_by_count(self) -> None:
        """Flush once `flush_messages` are not on stable storage. Raises OSError, with which the log is poisoned."""
        contents = self._contents
        if contents.end[0] - contents.recovery_point < self._environment.config.flush_messages:
            return
        try:
            self._flush_or_be_closed()
        except OSError as error:
            # Even of a full disk: the batches are in the log already, and readers may have seen them. A flush that got
            # no memory was interrupted, as by any other exception, and the next one does all of it.
            with self._guard.lock:
                if self._guard.state is not CLOSED and not isinstance(error, MemoryError):
                    self._guard.poison(error)
            raise

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

        `coordinator_epoch` is the leader epoch of the coordinator's partition; older ones are refused. With
        `transaction_version` 2 each transaction has a producer epoch of its own (KIP-890). Kafka: WriteTxnMarkers.

        Raises InvalidProducerEpochError, TransactionCoordinatorFencedError, and what `append` raises.

        >>> log.append_end_transaction(7, 0, commit=True, leader_epoch=3)
        """
        ensure_bool(commit, "commit")
        kind = formats.control.ControlType.COMMIT if commit else formats.control.ControlType.ABORT
        marker = formats.control.EndTransactionMarker(kind, 0, coordinator_epoch)
        return self.append(
            encode_end_transaction(marker, producer_id, producer_epoch, self._environment.clock()),
            leader_epoch=leader_epoch,
            origin=AppendOrigin.COORDINATOR,
            transaction_version=transaction_version,
        )

    def producer(
        self, producer_id: int | None = None, *, new_epoch: bool = False, codec: Codec = Codec.NONE
    ) -> LogProducer:
        """Return an idempotent producer, which goes on where the last one of this id ended; without an id, a new one.

        The earlier producer of this id is refused from then on, and a transaction that it has left open is aborted.
        `new_epoch` begins another producer epoch, by a marker in the log: so it is refused in each copy of the log too.
        Raises what `append_end_transaction` raises, and ValueError for what is no id.

        >>> log.producer(7).append([b"once"])
        """
        if producer_id is not None:
            producer_id = number_within(producer_id, "producer_id", MAX_INT64)
        if not isinstance(codec, Codec):
            raise TypeError(f"codec is {codec!r}, of type {type(codec).__name__}: pass Codec.LZ4 or another Codec")
        ensure_bool(new_epoch, "new_epoch")
        return self._producers.get().make(producer_id, codec, new_epoch=new_epoch)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Record that `epoch` leads from `start_offset` on: a new leader calls this before it writes.

        Kafka: assignEpochStartOffset. Raises InvalidEpochEntryError, and FencedLeaderEpochError below the latest epoch.
        """
        epoch, start_offset = leader_epoch_number(epoch), whole_number(start_offset, "start_offset")
        self._guard.do(ADDING, lambda: self._leader_epochs.begin(epoch, start_offset))

    def lead(self, epoch: int) -> Leadership:
        """Return the leadership of `epoch`, which begins at the log's end, and fences all that were returned before.

        Whoever was elected appends by it: once another leads, follows or cuts the log, its appends are refused. It
        moves the high watermark from then on. Each leadership has an epoch of its own, above all that the log has seen.
        Raises FencedLeaderEpochError for another, LogPoisonedError, LogClosedError and OSError.

        >>> log.lead(4).append([b"first"])
        """
        epoch = leader_epoch_number(epoch)

        def begin() -> Leadership:
            contents = self._contents
            leadership = Leadership(
                epoch,
                contents.log_end_offset,
                append=self._append_led,
                advance=self._advance_led,
                is_current=lambda asked: contents.leadership is asked,
            )
            self._leader_epochs.lead(leadership)
            return leadership

        return self._guard.do(ADDING, begin)

    def _append_led(
        self,
        leadership: Leadership,
        records: Records,
        template: BatchTemplate | None,
        origin: AppendOrigin,
        transaction_version: int | None,
        *,
        durable: bool,
    ) -> AppendInfo | Future[AppendInfo]:
        info = self._appender.append(records, leadership.epoch, template, origin, transaction_version, leadership)
        if self._environment.flushes_by_count:
            self._flush_by_count()
        return self._durable_appends.get().when_synced(info) if durable else info

    def _advance_led(self, leadership: Leadership, offset: int) -> int:
        with self._guard.lock:
            self._leader_epochs.ensure_leads(leadership)
            return self.advance_high_watermark(offset)

    # --- moving the ends

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, limited to the log's start and end; return it (Kafka: updateHighWatermark).

        That of a log that is the only copy follows its flushed end by itself, until this or `advance_high_watermark`
        is called: from then on its caller moves it.

        It may go back, as that of a follower does whose leader knows of less. Raises LogClosedError, and
        ReentrantCallError while this thread changes the log.
        """
        return self._move_high_watermark(offset, forward=False)

    def advance_high_watermark(self, offset: int) -> int:
        """Do as `update_high_watermark`, but never go back: a leader's consumers have read what is below it.

        Kafka: maybeIncrementHighWatermark.
        """
        return self._move_high_watermark(offset, forward=True)

    def _move_high_watermark(self, offset: int, *, forward: bool) -> int:
        if type(offset) is not int:
            offset = whole_number(offset, "offset")
        guard, contents = self._guard, self._contents
        if guard.state is not OPEN and guard.is_nested():
            guard.refuse_nested()
        with guard.lock:
            guard.ensure_readable()
            contents.follows_flush = False
            if forward and offset <= contents.high_watermark:
                return contents.high_watermark
            return contents.move_high_watermark(offset)

    def truncate_to(self, offset: int) -> bool:
        """Truncate the log to `offset`; return whether it ended later (Kafka: truncateTo).

        A batch that reaches `offset` is removed as a whole; the log still ends at `offset`, after a gap. If
        `offset` is before the first segment, the log restarts there, empty. Raises ValueError for a negative offset.
        """
        offset = whole_number(offset, "offset")
        if offset < 0:
            raise ValueError(f"a log cannot end at offset {offset:,}: pass one from 0 on")
        with self._cutting(self.announced_cut(offset)):
            return self._guard.do(ADDING, lambda: self._truncation.end_at(offset))

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Remove everything; the log continues at `offset` (Kafka: truncateFullyAndStartAt).

        `log_start_offset` is that of a leader with tiered storage, at most `offset`, which is the default. Raises
        ValueError for offsets out of range.
        """
        offset = whole_number(offset, "offset")
        start = offset if log_start_offset is None else whole_number(log_start_offset, "log_start_offset")
        if not 0 <= offset < MAX_OFFSET:
            raise ValueError(f"a log cannot continue at offset {offset:,}: pass one from 0 on and below {MAX_OFFSET:,}")
        if not 0 <= start <= offset:
            raise ValueError(
                f"a log cannot start at {start:,} and continue at {offset:,}: pass one from 0 to {offset:,}"
            )
        with self._cutting(self.announced_cut(start, begins_anew=True)):
            self._guard.do(ADDING, lambda: self._truncation.start_at(offset, start), needs_room=True)

    def announced_cut(self, offset: int, *, begins_anew: bool = False) -> AnnouncedCut | None:
        """Return what `announce` is to know of a truncation, for which the log's root writes its checkpoint files.

        None for a log that stands alone, or is the only copy: it sees to that by itself.
        """
        claims = self._environment.root_claims
        if claims is None or not self._environment.is_replicated:
            return None
        loses_all = begins_anew or offset < self._contents.segments.first.base_offset
        end = state.root_claims.CutEnd
        cut = end.afresh(offset) if loses_all else end.at(offset)
        return state.root_claims.AnnouncedCut(claims, self.topic_partition, cut)

    def _cutting(self, announced: AnnouncedCut | None) -> AbstractContextManager[None]:
        """Lower what the root claims, before the log's lock is taken: whoever writes the files waits for no log."""
        if announced is None:
            return nullcontext()
        self._guard.ensure_writable()
        return announced.claims.cutting(announced.partition, announced.cut)

    def delete_records(self, before: int) -> bool:
        """Move the log's start to `before`; return whether it was lower (Kafka: maybeIncrementLogStartOffset).

        `delete_old_segments` deletes the segments below it. Raises OffsetOutOfRangeError above the high watermark.
        """
        before = whole_number(before, "before")
        return self._guard.do(ADDING, lambda: self._retention.delete_records(before), needs_room=True)

    def delete_old_segments(self) -> int:
        """Delete segments below the log's start, and those that exceed `retention_bytes` or `retention_ms`.

        Nothing is deleted above the high watermark, nor by age where neither `retention_ms` nor `keep` was set.
        Returns how many were deleted (Kafka: deleteOldSegments).
        """
        return self._guard.do(ADDING, self._retention.delete_old_segments, needs_room=True)

    def trim(self, before: int) -> int:
        """Delete the records below `before`, and free the space of segments that hold nothing else; return the start.

        Only whole segments are freed, and at once, whatever `file_delete_delay_ms` is. It works on a full disk. Where
        the high watermark follows the flushed end, what lies below `before` is flushed first if need be. Raises
        OffsetOutOfRangeError above the high watermark, or behind the log's end.

        >>> log.trim(before=log.cursor("billing").position)
        7
        """
        before = whole_number(before, "before")
        self._guard.do(ADDING, lambda: self._retention.flush_below(before), needs_room=True)
        self.delete_records(before)
        self._guard.do(ADDING, self._retention.free, needs_room=True)
        return self.log_start_offset

    # --- compaction

    @property
    def cleaner_offset(self) -> int | None:
        """Below it the log was compacted; None if it never was (Kafka: the cleaner's checkpoint)."""
        return self._contents.cleaner_offset

    @property
    def cleanable_ratio(self) -> float:
        """The share of what was never compacted in all that `compact` would read; 0 if there is nothing to compact.

        Raises LogPoisonedError, LogClosedError, and OSError.
        """
        return self._compaction.section().ratio

    @property
    def is_compaction_due(self) -> bool:
        """Whether `min_cleanable_dirty_ratio` or `max_compaction_lag_ms` is exceeded, as Kafka's cleaner decides it.

        Raises what `cleanable_ratio` raises.
        """
        return self._compaction.is_due()

    def compact(self, dedupe_buffer_bytes: int = DEDUPE_BUFFER_BYTES) -> CompactionReport:
        """Keep only the latest record of each key in closed segments below the last stable offset, as Kafka's cleaner.

        Tombstones and transaction markers go once `delete_retention_ms` has passed since a compaction came across them
        first; those of aborted transactions go at once. Offsets stay. Appends and reads go on meanwhile. Keys take up
        to `dedupe_buffer_bytes` of memory; if they would take more, the rest of the log is left to the next call.

        Another compaction of the log is waited for. Raises ValueError unless `cleanup_policy` contains "compact";
        MissingKeyError, with nothing compacted, for a record without a key, unless the log is `replicated`: there it
        goes, as in Kafka;
        CompactionAbortedError if records are truncated or deleted meanwhile; CorruptBatchError for a damaged batch;
        UnsupportedFormatError for batches of before Kafka 0.11; LogPoisonedError, LogClosedError, and OSError. What is
        compacted by then stays so.
        """
        return self._compaction.compact(whole_number(dedupe_buffer_bytes, "dedupe_buffer_bytes"))

    def compact_if_due(self, dedupe_buffer_bytes: int = DEDUPE_BUFFER_BYTES) -> CompactionReport | None:
        """Compact the log if `is_compaction_due`, else return None. Raises what `compact` raises."""
        return self._compaction.compact_if_due(whole_number(dedupe_buffer_bytes, "dedupe_buffer_bytes"))

    @property
    def _compaction(self) -> Compaction:
        from logstore.log.compaction import Compaction  # noqa: PLC0415  start-up time: few logs are compacted

        return Compaction(
            self._environment, self._contents, self._guard, self._flusher, self._deleted, self._compaction_turn
        )

    # --- segments

    def roll(self) -> None:
        """Begin a new segment at the log's end, unless the active one is empty."""
        self._guard.do(ADDING, self._roller.roll_unless_empty)

    @property
    def end_of_flushed(self) -> int:
        """Where the batches end that are on stable storage; an only copy may have none up to its recovery point."""
        return self._flusher.end_of_flushed

    def flush(self) -> int:
        """Return once everything appended so far is on stable storage; return the recovery point, where that ends.

        Appends and reads go on meanwhile. Threads that flush at once share what they wait for (group commit).
        """
        return self._flusher.flush()

    def _flush_or_be_closed(self) -> None:
        """Flush; a log that was closed in order is on stable storage already."""
        try:
            self._flusher.flush()
        except LogClosedError:
            if not self.is_complete:
                raise

    # --- copying

    def backup(self, directory: str | os.PathLike[str]) -> LogBackup:
        """Copy the log as it is now to `directory`, which has the same name as the log's; return what it has.

        Appends and reads go on meanwhile. The copy is a log that was closed in order. While it is made its name ends
        in `.partial`; if that is broken off, the next call goes on. A backup that is there already is updated: segments
        that have not changed are kept, and it becomes what the log is now, even if that is less. Only a log that can be
        written is backed up.

        Raises FileExistsError if something else is at `directory`, or a backup that was written to since;
        InvalidDirectoryNameError for another name, ValueError for a directory within the log's, DirectoryLockedError
        while another call makes the same backup, LogPoisonedError, LogClosedError, and OSError.

        >>> log.backup("/backups/orders-0").log_end_offset
        3
        """
        return self._backups.make(Path(directory).absolute())

    def copy_into(self, target: Path, previous: Path | None) -> LogBackup:
        """Copy the log for a backup of its `LogDirectory`, which says when that is whole.

        Raises what `backup` raises.
        """
        return self._backups.copy(target, previous, stands_alone=False)

    @property
    def _backups(self) -> LogBackups:
        from logstore.log.backup.log_backup import LogBackups  # noqa: PLC0415  start-up time

        return LogBackups(self._environment, self._contents, self._guard)

    # --- closing

    def expire_producers(self) -> None:
        """Remove the state of producers that have been idle for `producer_id_expiration_ms`."""
        self._guard.ensure_not_nested()
        with self._guard.lock:
            self._guard.ensure_readable()
            self._contents.producers.expire(self._environment.expiry_ms())

    def close(self) -> None:
        """Flush, and close the files; the next `open` needs no recovery. Closing again does nothing.

        A compaction in another thread is broken off, and waited for. In a forked process this closes the copy of the
        log and does not change the log.
        """
        if self._guard.is_inherited:
            return
        self._guard.ensure_not_nested()
        with self._compaction_turn.for_closing(), self._guard.lock:
            self._closing.close()
        if (appends := self._durable_appends.made) is not None:
            appends.drain()
        drain()

    def abandon(self) -> None:
        """Close the files and write nothing, as if the process had died (Kafka: closeHandlers).

        For a log whose disk has failed: the next `open` recovers it. A compaction is waited for, as by `close`. In a
        forked process this does not change the log.
        """
        if self._guard.is_inherited:
            return
        self._guard.ensure_not_nested()
        with self._compaction_turn.for_closing(), self._guard.lock:
            self._closing.abandon()
        drain()

    @property
    def recovery_advice(self) -> str:
        """What to do if the log is poisoned."""
        return self._guard.recovery_advice

    def recover(self) -> Log:
        """Close a poisoned log and return a new one, opened again and checked from the recovery point on.

        This log stays closed. If the call is interrupted, the next one continues. Raises the errors of `open`;
        LogClosedError in a forked process, or if the log was closed or its directory no longer exists;
        DirectoryLockedError for a log of a `LogDirectory`, which has its own `recover`.

        >>> log = log.recover()
        """
        if self._guard.is_inherited:
            self._guard.refuse()
        self._guard.ensure_not_nested()
        successor: Log | None = None
        try:
            with self._compaction_turn.for_closing(), self._guard.lock:
                self._ensure_recoverable()
                self._is_given_up = True
                self._closing.abandon()
                known, kept_ms = self._known_for_successor(), self._environment.default_retention_ms
                successor = Log.open(
                    self.directory,
                    self.config,
                    keep=kept_ms,
                    checkpoints=known if self._own_checkpoints is None else None,
                    replicated=self._environment.is_replicated,
                    filesystem=self._disk,
                    clock=self._environment.watched_clock or self._environment.clock,
                    observer=self._environment.observer,
                    open_files=self._environment.open_files,
                    reserve=self._environment.reserve,
                    out_of_space=self._environment.out_of_space,
                    root_claims=self._environment.root_claims,
                )
                if not self._contents.follows_flush:
                    successor.update_high_watermark(self._contents.high_watermark)
                self._is_given_up = False
            return successor  # noqa: TRY300  here, as something may be raised until it returns
        except BaseException:
            if successor is not None:  # nobody else knows of it
                self._is_given_up = True
                successor.abandon()
            raise

    def _ensure_recoverable(self) -> None:
        if self._guard.state is CLOSED and not self._is_given_up:
            self._guard.refuse()
        if self._is_in_directory:
            raise DirectoryLockedError(
                "the log belongs to a LogDirectory, which has to recover it",
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
                "the log was deleted", file=self.directory, advice="create it again; there is nothing to recover"
            )
        return PartitionCheckpoints(
            recovery_point=self._contents.recovery_point,
            high_watermark=self._contents.high_watermark,
            log_start_offset=self._contents.log_start_offset,
            cleaner_offset=self._contents.cleaner_offset,
        )


def _recovery_advice(partition: TopicPartition | None) -> str:
    """Return what to do if the log is poisoned: a `LogDirectory` recovers its own logs."""
    if partition is None:
        return "continue with `log = log.recover()`; or `abandon()` it, and open the log again"
    return f"continue with `log = directory.recover({partition!r})`, where `directory` is its LogDirectory"
