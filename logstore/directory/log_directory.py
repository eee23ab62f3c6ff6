"""The logs of one log.dirs root, open for reading and writing (Kafka: LogManager, for one directory)."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import RLock
from types import MappingProxyType, TracebackType
from typing import NoReturn, Self
from uuid import UUID

from epoch.filesystem import REAL, FileSystem
from epoch.forked import RefusedLock, detach_after_fork
from epoch.resource_limits import is_passing, naming_limits
from logstore.clock import now_ms
from logstore.closing import do_all
from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.deleted_partitions import DeletedPartitions
from logstore.directory.directory_settings import DirectorySettings
from logstore.directory.log_opener import LogOpener
from logstore.directory.partitions import Partitions
from logstore.directory.periodic_tasks import PeriodicTasks
from logstore.directory.periodic_thread import PeriodicThread
from logstore.directory.root_loader import RootLoader
from logstore.directory.upkeep import Upkeep
from logstore.errors import (
    InvalidDirectoryNameError,
    LogPoisonedError,
    LogStoreError,
    NotALogDirectoryError,
    OfflineDirectoryError,
    PartitionExistsError,
    ReentrantCallError,
    UnknownPartitionError,
    inherited_directory,
)
from logstore.file_name import FileKind, parse_file_name
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, UNKNOWN_BROKER_EPOCH, CleanShutdown, take_clean_shutdown
from logstore.files.directory_lock import LOCK_NAME, DirectoryLock
from logstore.files.owned_filesystem import OwnedFileSystem
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.log.log_observer import LogObserver
from logstore.log_config import LogConfig
from logstore.recovery.segment_recovery import OnBytes
from logstore.segment.open_files import OpenFiles
from logstore.topic_partition import DirectoryMark, TopicPartition, parse_directory_name


class LogDirectory:
    """All partitions of one log.dirs root, behind its lock.

    Open it with `periodic=True` to run periodic tasks in a background thread. Otherwise call `run_periodic` about every
    second, which runs the tasks that are due.

    >>> with LogDirectory.open("/var/kafka-logs", periodic=True) as directory:
    ...     log = directory.create(TopicPartition("orders", 0))
    ...     log.append([Record.of(b"...")])
    """

    def __init__(
        self,
        root: Path,
        lock: DirectoryLock,
        *,
        config_of: Callable[[TopicPartition], LogConfig],
        settings: DirectorySettings,
        filesystem: FileSystem,
        clock: Callable[[], int],
        observer: LogObserver | None = None,
    ) -> None:
        """Hold no logs yet; see `open`."""
        self.root = root
        self.broker_epoch = UNKNOWN_BROKER_EPOCH
        """The epoch of the broker that stopped last, as the clean-shutdown file said; written again on close."""
        self._lock = lock
        self._config_of = config_of
        self._settings = settings
        self._filesystem = filesystem
        self._clock = clock
        self._partitions = Partitions()
        self._upkeep = Upkeep(self._partitions, clock)
        self._checkpoints = CheckpointFiles(root, filesystem)
        self._deleted = DeletedPartitions(filesystem)
        self._opener = LogOpener(
            root,
            self._checkpoints,
            config_of=config_of,
            filesystem=filesystem,
            clock=clock,
            observer=observer,
            open_files=OpenFiles(settings.max_open_files),
        )
        self._begun: set[TopicPartition] = set()
        """Those whose making may have been broken off."""
        self._failure: OSError | None = None
        self._changes: RLock | RefusedLock = RLock()
        self._schedule = PeriodicTasks(
            {
                self._notice_failures: 0,
                self.flush_due_logs: settings.log_flush_scheduler_interval_ms,
                self._write_recovery_points: settings.log_flush_offset_checkpoint_interval_ms,
                self._write_high_watermarks: settings.replica_high_watermark_checkpoint_interval_ms,
                self.enforce_retention: settings.log_retention_check_interval_ms,
                self.remove_deleted: 0,
            },
            clock(),
        )
        self._thread = PeriodicThread(self.run_periodic, settings.shortest_interval_ms, f"epochlog {root.name}")
        self._is_inherited = False
        detach_after_fork(self)

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        config: LogConfig | Callable[[TopicPartition], LogConfig] | None = None,
        *,
        settings: DirectorySettings | None = None,
        filesystem: FileSystem = REAL,
        clock: Callable[[], int] = now_ms,
        observer: LogObserver | None = None,
        periodic: bool = False,
        progress: OnBytes = lambda _: None,
        lock: DirectoryLock | None = None,
        made: Callable[[Self], object] = lambda _: None,
    ) -> Self:
        """Lock the root, creating it if missing, and open all logs in it, recovering them after an unclean stop.

        `config` applies to all logs, or is a function that returns the configuration of a partition. `observer` is
        called for all logs, from several threads. With `periodic` a thread calls `run_periodic` until the directory is
        closed. `progress` is called, from several threads, with the number of bytes recovered since its last call;
        `RecoveryEstimate` gives the total in advance. `lock` is the root's lock if the caller already holds it: it is
        released when the directory is closed. `made` is called with the directory before any log is opened, so that
        the caller can close it whatever is raised.

        A log is in `unreadable` if it is damaged beyond recovery, is open by itself, or if its directory is a link; the
        other logs are opened. Raises NotALogDirectoryError if the root is a log's own directory, DirectoryLockedError,
        and OSError if the disk fails.
        """
        root = Path(root).absolute()
        filesystem = OwnedFileSystem(filesystem, inherited_directory(root))
        _ensure_holds_no_segments(root)
        if not root.is_dir():
            filesystem.mkdir(root)
            filesystem.fsync_directory(root.parent)
        lock = lock or DirectoryLock(root / LOCK_NAME)
        directory = None
        try:
            if not lock.held:
                lock.take()
            directory = cls(
                root,
                lock,
                config_of=config if callable(config) else lambda _: config or LogConfig(),
                settings=settings or DirectorySettings(),
                filesystem=filesystem,
                clock=clock,
                observer=observer,
            )
            made(directory)
            directory._load(progress)
            if periodic:
                directory._thread.start()
            return directory  # noqa: TRY300  here, as something may be raised until it returns
        except BaseException:
            if directory is not None:
                directory.abandon()
            lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- what is in it

    @property
    def partitions(self) -> Mapping[TopicPartition, Log]:
        """The open logs, by partition. None once the disk has failed."""
        return MappingProxyType(self._partitions.logs)

    @property
    def unreadable(self) -> Mapping[TopicPartition, LogStoreError]:
        """The partitions that could not be opened, and why."""
        return MappingProxyType(self._partitions.unreadable)

    @property
    def set_aside(self) -> Mapping[str, DirectoryMark]:
        """The directories marked `-future` or `-stray`, by name, which are left to a broker.

        The entries of their partitions in the checkpoint files are kept. Kafka opens such logs too.
        """
        return MappingProxyType(self._partitions.set_aside)

    @property
    def failure(self) -> OSError | None:
        """What took the root offline; None while it is online."""
        return self._failure

    def log(self, partition: TopicPartition) -> Log:
        """Return a log. Raises OfflineDirectoryError, UnknownPartitionError, or the error in `unreadable`."""
        self._ensure_online()
        if partition in self._partitions.unreadable:
            raise self._partitions.unreadable[partition]
        if partition not in self._partitions.logs:
            raise UnknownPartitionError(f"there is no partition {partition}", file=self.root, advice="create it first")
        return self._partitions.logs[partition]

    # --- partitions come and go

    def create(self, partition: TopicPartition, *, topic_id: UUID | None = None) -> Log:
        """Create a partition and open its empty log.

        Raises InvalidDirectoryNameError, PartitionExistsError, OSError.
        """
        if parse_directory_name(str(partition)).topic_partition != partition:
            raise InvalidDirectoryNameError(
                f"{partition!r} is no partition", file=self.root, advice="name a topic, and a number from 0 on"
            )
        self._ensure_between_calls()
        with self._changes:
            self._ensure_online()
            path = self.root / str(partition)
            if partition in self._partitions.logs or (os.path.lexists(path) and partition not in self._begun):
                raise PartitionExistsError(f"the partition {partition} already exists", file=path)
            with self._watched():
                if self._checkpoints.speak_of(partition):
                    # Of one that was deleted: after a crash that would be taken for what the new one holds.
                    self._write_recovery_points()
                    self._write_high_watermarks()
                # Whatever breaks this off, the next call goes on with it.
                self._begun.add(partition)
                if not path.exists():
                    self._filesystem.mkdir(path)
                self._filesystem.fsync_directory(self.root)
                if topic_id is not None:
                    PartitionMetadata(topic_id).write(path / PARTITION_METADATA_NAME, self._filesystem)
                log = self._opener.open(partition, PartitionCheckpoints(clean_shutdown=True))
            self._partitions.logs[partition] = log
            self._begun.discard(partition)
            return log

    def recover(self, partition: TopicPartition) -> Log:
        """Close a poisoned log and return a new one, opened again and checked from its recovery point on.

        If the call is interrupted, the log is closed; the next call continues. Raises the errors of `log` and
        `Log.open`, and LogClosedError if its directory no longer exists.
        """
        self._ensure_between_calls()
        with self._changes, self._watched():
            known = self.log(partition).give_up()
            log = self._partitions.logs[partition] = self._opener.open(partition, known)
            return log

    def delete(self, partition: TopicPartition) -> None:
        """Delete a partition: its directory is renamed now, and removed `file_delete_delay_ms` later.

        This needs no disk space, so it also works when the disk is full. If the call is interrupted, the partition may
        already be closed; the next call continues. Raises UnknownPartitionError, OSError.
        """
        self._ensure_between_calls()
        with self._changes, self._watched():
            self._ensure_online()
            self.log(partition).abandon()
            due_ms = self._clock() + self._config_of(partition).file_delete_delay_ms
            if (self.root / str(partition)).exists():
                self._deleted.rename(self.root / str(partition), due_ms)
            del self._partitions.logs[partition]
            self._upkeep.forget(partition)
            self._checkpoints.forget(partition)
            try:
                self._write_recovery_points()
            except OSError as error:
                # Written when that is due next, and before there is such a partition again.
                if not is_passing(error):
                    raise

    # --- what is due from time to time

    def run_periodic(self) -> None:
        """Run the tasks that are due: flush by `flush_ms`, write checkpoints, enforce retention, remove deleted files.

        A failed disk takes the root offline, and `failure` is set. If the disk is full, a failed task is retried when
        it is next due. This does nothing once the directory is closed, or during another call of this thread. Raises
        nothing.
        """
        if self._is_inherited or self._is_in_call or self._log_in_call is not None:
            return
        with self._changes:
            for task in self._schedule.due(self._clock()):
                if self._failure is None and self._lock.held:
                    with suppress(OSError), self._watched():
                        task()

    def checkpoint(self) -> None:
        """Write the recovery points and the log start offsets, durably.

        Raises DirectoryLockedError once closed, OfflineDirectoryError, OSError.
        """
        self._ensure_between_calls()
        with self._changes:
            self._write_recovery_points()

    def checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks, durably.

        Raises DirectoryLockedError once closed, OfflineDirectoryError, OSError.
        """
        self._ensure_between_calls()
        with self._changes:
            self._write_high_watermarks()

    def _write_recovery_points(self) -> None:
        with self._watched():
            self._ensure_online()
            self._checkpoints.write_recovery_points(self._partitions.logs)

    def _write_high_watermarks(self) -> None:
        with self._watched():
            self._ensure_online()
            self._checkpoints.write_high_watermarks(self._partitions.logs)

    def flush_due_logs(self) -> None:
        """Flush the logs whose `flush_ms` has passed since their last flush here. Raises OSError."""
        self._upkeep.flush_due_logs()

    def enforce_retention(self) -> None:
        """Delete segments by age and size in all logs, and remove the state of idle producers. Raises OSError."""
        self._upkeep.enforce_retention()

    def notice_failures(self) -> None:
        """Take the root offline if a write or fsync of a log has failed. `run_periodic` checks this first.

        A log that was poisoned because a call was interrupted (LogPoisonedError), for example by a full disk, does not
        take the root offline: see `recover`.
        """
        self._ensure_between_calls()
        with self._changes:
            self._notice_failures()

    def _notice_failures(self) -> None:
        for log in self._partitions.logs.values():
            if log.failure is not None and not isinstance(log.failure, LogPoisonedError):
                self._fail(log.failure)
                return

    def remove_deleted(self) -> None:
        """Remove the directories of deleted partitions whose delay has passed. Raises OSError."""
        self._deleted.remove_due(self._clock())

    # --- the end

    def close(self) -> None:
        """Flush and close all logs, write the checkpoints and the clean-shutdown file, release the lock.

        After a disk failure only the lock is released. If a log cannot be closed, all others still are. Raises OSError,
        or NotClosedError if several failed; the logs are then recovered at the next open. In a forked process this
        closes the copy of the directory and does not change the directory.
        """
        if self._is_inherited:
            return
        self._ensure_between_calls()
        self._ensure_logs_between_calls()
        self._thread.stop()
        with self._changes:
            try:
                if self._failure is None and self._lock.held:
                    with self._watched():
                        self._close_in_order()
            finally:
                self._let_go()

    def abandon(self) -> None:
        """Close all files and write nothing, as if the process had died."""
        if self._is_inherited:
            return
        self._ensure_between_calls()
        self._ensure_logs_between_calls()
        self._thread.stop()
        with self._changes:
            self._let_go()

    def _close_in_order(self) -> None:
        logs = self._partitions.logs
        steps: list[Callable[[], object]] = [
            lambda: self._checkpoints.write_high_watermarks(logs),
            *(partial(_close_or_abandon, log) for log in logs.values()),
            lambda: self._checkpoints.write_recovery_points(logs),
        ]
        do_all(steps, f"the logs in {self.root}")
        is_complete = all(log.is_complete for log in logs.values())
        if is_complete and not self._partitions.unreadable and not self._partitions.may_be_torn:
            CleanShutdown(self.broker_epoch).write(self.root / CLEAN_SHUTDOWN_NAME, self._filesystem)
        self._partitions.logs = {}

    def _let_go(self) -> None:
        try:
            do_all([log.abandon for log in self._partitions.logs.values()], f"the logs in {self.root}")
        except (OSError, LogStoreError):
            self._release()
            raise
        # Not where this is broken off: logs that are open yet are the lock's to guard, and the next call goes on.
        self._release()

    def _release(self) -> None:
        self._partitions.logs = {}
        self._lock.release()

    def detach(self) -> None:
        """Take nothing more, and leave everything as it is: for a forked process, which does not hold the lock."""
        self._is_inherited = True
        self._changes = RefusedLock(self._refuse)

    @property
    def _is_in_call(self) -> bool:
        """Whether a signal handler has interrupted a call of its own thread; the lock itself would let it in."""
        changes = self._changes
        return not isinstance(changes, RefusedLock) and changes._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001

    def _ensure_between_calls(self) -> None:
        """Raise ReentrantCallError in the middle of a call of this thread: it goes on with what it has found."""
        if self._is_in_call:
            raise ReentrantCallError(
                "this thread is already in a call of the log directory",
                file=self.root,
                advice="do not use it in a signal handler that may interrupt such a call",
            )

    @property
    def _log_in_call(self) -> Log | None:
        """A log of which this thread is in the middle of a call."""
        return next((log for log in list(self._partitions.logs.values()) if log.is_in_call), None)

    def _ensure_logs_between_calls(self) -> None:
        """Raise ReentrantCallError in the middle of a log's call of this thread, for which all would wait in vain."""
        log = self._log_in_call
        if log is not None:
            raise ReentrantCallError(
                "this thread is in a call of a log of the directory",
                file=log.directory,
                advice="do not close the directory in a signal handler that may interrupt such a call",
            )

    def _refuse(self) -> NoReturn:
        raise inherited_directory(self.root)

    # --- opening

    def _load(self, progress: OnBytes) -> None:
        known = self._checkpoints.read()
        # Before any log is touched.
        self.broker_epoch = take_clean_shutdown(self.root, self._filesystem).broker_epoch
        loader = RootLoader(
            self.root,
            self._partitions,
            self._checkpoints,
            self._deleted,
            self._opener,
            filesystem=self._filesystem,
            clock=self._clock,
            recovery_threads=self._settings.num_recovery_threads_per_data_dir,
        )
        loader.load(known, progress)
        loader.adopt(self._write_all_checkpoints)

    def _write_all_checkpoints(self) -> None:
        self.checkpoint()
        self.checkpoint_high_watermarks()

    # --- the disk

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Take the root offline when the disk fails. A full disk has not, nor has a process at one of its limits."""
        try:
            with naming_limits(self.root):
                yield
        except LogStoreError:
            raise
        except OSError as error:
            if not is_passing(error):
                self._fail(error)
            raise

    def _fail(self, error: OSError) -> None:
        """Let go of all logs; the other roots go on (Kafka: handleLogDirFailure)."""
        self._failure = error
        with suppress(OSError, LogStoreError):  # `error` is told
            do_all([log.abandon for log in self._partitions.logs.values()], f"the logs in {self.root}")
        self._partitions.logs = {}

    def _ensure_online(self) -> None:
        if self._is_inherited:
            self._refuse()
        self._lock.ensure_held()
        if self._failure is not None:
            raise OfflineDirectoryError(
                f"the directory is offline since its disk failed: {self._failure}",
                file=self.root,
                advice="replace the disk, or open the directory again once it works",
            ) from self._failure


def _ensure_holds_no_segments(root: Path) -> None:
    """Raise NotALogDirectoryError for a log's own directory: its offsets would be overwritten with those of a root."""
    for path in root.glob("*.log"):
        if parse_file_name(path.name).kind is FileKind.LOG:
            raise NotALogDirectoryError(
                "this is the directory of a partition, not a root: it holds segments",
                file=root,
                advice="open it with Log.open, or name its parent",
            )


def _close_or_abandon(log: Log) -> None:
    try:
        log.close()
    except LogPoisonedError:
        log.abandon()  # who broke it was told
