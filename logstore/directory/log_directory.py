"""The logs of one log.dirs root, open for reading and writing (Kafka: LogManager, for one directory)."""

import os
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Final, Self
from uuid import UUID

from epoch.filesystem import REAL, FileSystem
from epoch.history import MAX_EPOCH
from logstore.append.append_info import AppendInfo
from logstore.arguments import ensure_bool
from logstore.batch.buffer import Buffer
from logstore.clock import WatchedClock, now_ms, watched
from logstore.clock_watch import ClockDoubt
from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.checkpoint_writer import CheckpointWriter
from logstore.directory.directory_closing import DirectoryClosing, close_or_abandon
from logstore.directory.directory_compaction import DirectoryCompaction
from logstore.directory.directory_recovery import DirectoryRecovery
from logstore.directory.directory_settings import DirectorySettings
from logstore.directory.lifecycle.deleted_partitions import DeletedPartitions
from logstore.directory.lifecycle.future_partitions import FuturePartitions
from logstore.directory.lifecycle.partition_creation import PartitionCreation
from logstore.directory.lifecycle.partition_deletion import PartitionDeletion
from logstore.directory.log_opener import LogOpener
from logstore.directory.periodic_tasks import PeriodicTasks
from logstore.directory.periodic_thread import PeriodicThread
from logstore.directory.root_loader import RootLoader, ensure_holds_no_segments
from logstore.directory.shortfalls.shortfall import Shortfall
from logstore.directory.shortfalls.shortfalls import Shortfalls
from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.directory.state.directory_guard import DirectoryGuard
from logstore.directory.state.disk_space import LOOK_INTERVAL_MS, DiskSpace
from logstore.directory.state.disk_watch import DiskWatch
from logstore.directory.state.partitions import Partitions
from logstore.directory.upkeep import Upkeep
from logstore.errors import (
    LogStoreError,
    UnknownPartitionError,
    inherited_directory,
)
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.broker.kept_claims import Claims
from logstore.files.broker.other_roots import OtherRoots
from logstore.files.clean_shutdown import UNKNOWN_BROKER_EPOCH, take_clean_shutdown
from logstore.files.directory_lock import LOCK_NAME, DirectoryLock
from logstore.files.meta_properties import MetaProperties
from logstore.files.only_copy.space_reserve import SpaceReserve
from logstore.files.owned_filesystem import OwnedFileSystem
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.log.log import Log
from logstore.log.observers.log_observer import LogObserver
from logstore.log_config import LogConfig
from logstore.recovery.damage_policy import Damage, DamagePolicy
from logstore.recovery.segment_walk import OnBytes
from logstore.topic_partition import DirectoryMark, TopicPartition, ensure_is_partition

if TYPE_CHECKING:
    from logstore.compaction.compaction_report import CompactionReport
    from logstore.log.backup.log_backup import LogBackup

_ANY_EPOCH: Final[Mapping[TopicPartition, int]] = MappingProxyType({})


class LogDirectory:
    """All partitions of one log.dirs root, behind its lock.

    Open it with `periodic=True` to run periodic tasks in a background thread. Otherwise call `run_periodic` about every
    second, which runs the tasks that are due.

    >>> with LogDirectory.open("/var/kafka-logs", periodic=True) as directory:
    ...     log = directory.create(TopicPartition("orders", 0))
    ...     log.append([Record.of(b"...")])
    """

    def __init__(self, environment: DirectoryEnvironment, lock: DirectoryLock) -> None:
        """Hold no logs yet; see `open`."""
        root, settings, clock = environment.root, environment.settings, environment.clock
        self.root = root
        self.settings = settings
        """How often its periodic tasks are due, and how many of its files are open at once."""
        self.broker_epoch: int = UNKNOWN_BROKER_EPOCH
        """The epoch of the broker that stopped last, as the clean-shutdown file said; written again on close."""
        self.recovery: DirectoryRecovery | None = None
        """What recovery did as it was opened; None after a stop in order, which leaves nothing to recover."""
        self._environment = environment
        partitions = self._partitions = Partitions()
        disk = self._disk = DiskWatch(root, partitions, DiskSpace(root, environment.filesystem))
        if environment.reserve is not None:
            environment.reserve.out_of_space = disk.space.note
        checkpoints = self._checkpoints = CheckpointFiles(environment, disk.note)
        guard = self._guard = DirectoryGuard(root, lock, partitions, disk, checkpoints.guard)
        upkeep = self._upkeep = Upkeep(partitions, clock)
        shortfalls = self._shortfalls = Shortfalls(environment, partitions)
        self._other_roots: OtherRoots | None = None
        self._said = RootCheckpoints()
        """By the checkpoint files, as they were read first."""
        deleted = self._deleted = DeletedPartitions(environment.filesystem)
        writer = self._writer = CheckpointWriter(checkpoints, partitions, guard, disk)
        self._compaction = DirectoryCompaction(partitions, guard, disk, writer)
        opener = self._opener = LogOpener(environment, checkpoints, disk.space.note)
        self._loader = RootLoader(environment, partitions, checkpoints, deleted, opener)
        self._creation = PartitionCreation(environment, partitions, disk, checkpoints, writer, opener)
        self._deletion = PartitionDeletion(environment, partitions, deleted, upkeep, checkpoints, writer)
        self.futures: FuturePartitions = FuturePartitions(
            environment, partitions, disk, guard, deleted, checkpoints, writer, opener
        )
        """The copies of partitions that are being moved here from another root of the same broker."""
        self._closing = DirectoryClosing(environment, lock, partitions, checkpoints)
        self._schedule = PeriodicTasks(
            {
                disk.notice_failures: 0,
                self.flush_due_logs: settings.log_flush_scheduler_interval_ms,
                writer.write_recovery_points: settings.log_flush_offset_checkpoint_interval_ms,
                writer.write_high_watermarks: settings.replica_high_watermark_checkpoint_interval_ms,
                self.enforce_retention: settings.log_retention_check_interval_ms,
                self.remove_deleted: 0,
                shortfalls.keep: 0,
                self._fill_reserve: settings.log_flush_offset_checkpoint_interval_ms,
                disk.space.look: LOOK_INTERVAL_MS,
            },
            clock(),
        )
        self._thread = PeriodicThread(self.run_periodic, settings.shortest_interval_ms, f"epochlog {root.name}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.root}, {len(self._partitions.logs):,} partitions)"

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        config: LogConfig | Callable[[TopicPartition], LogConfig] | None = None,
        *,
        replicated: bool | Callable[[TopicPartition], bool] = False,
        damage: Damage | Callable[[TopicPartition], Damage] = "raise",
        check_all: bool = False,
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

        Pass `replicated=True` where other nodes have copies of all logs, as a broker's: each then ends at the first
        damage that its recovery finds, as Kafka's, but with `damage="hold"` not below its recovery point; `shortfalls`
        has those that end up with less than the checkpoint files said. Otherwise `damage` says what becomes of a log
        that was damaged below its recovery point, as for `Log.open`; one that is refused is in `unreadable`, and
        `open_unreadable` opens it. With `check_all` each batch of all logs is checked. Such a root keeps some space for
        what a full disk must not prevent, in `.reserve`.

        `config`, `replicated` and `damage` apply to all logs, or are functions that say it of a partition. `observer`
        is called for all logs, from several threads. With `periodic` a thread calls `run_periodic` until the directory
        is closed. `progress` is called, from several threads, with the number of bytes recovered since its last call;
        `RecoveryEstimate` gives the total in advance. `lock` is the root's lock if the caller already holds it: it is
        released when the directory is closed. `made` is called with the directory before any log is opened, so that
        the caller can close it whatever is raised.

        A log is in `unreadable` if it is damaged beyond recovery, is open by itself, or if its directory is a link; the
        other logs are opened. Raises NotALogDirectoryError if the root is a log's own directory, DirectoryLockedError,
        and OSError if the disk fails.
        """
        ensure_bool(periodic, "periodic")
        ensure_bool(check_all, "check_all")
        if not (callable(damage) or callable(replicated)):
            DamagePolicy.of(damage, replicated=replicated)
        root = Path(root).absolute()
        filesystem = OwnedFileSystem(filesystem, inherited_directory(root))
        ensure_holds_no_segments(root)
        if not root.is_dir():
            filesystem.mkdir(root)
            filesystem.fsync_directory(root.parent)
        lock = lock or DirectoryLock(root / LOCK_NAME)
        directory = None
        try:
            if not lock.held:
                lock.take()
            same = LogConfig() if config is None or callable(config) else config
            settings = settings or DirectorySettings()
            if clock is now_ms:
                clock = WatchedClock(jump_max_ms=settings.log_clock_jump_max_ms)
            environment = DirectoryEnvironment(
                root,
                config_of=config if callable(config) else lambda _: same,
                settings=settings,
                filesystem=filesystem,
                clock=clock,
                observer=observer,
                replicated_of=replicated if callable(replicated) else lambda _: replicated,
                damage_of=damage if callable(damage) else lambda _: damage,
                check_all=check_all,
                reserve=None if replicated is True else SpaceReserve(root, filesystem),
            )
            directory = cls(environment, lock)
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
    def shortfalls(self) -> Mapping[TopicPartition, Shortfall]:
        """What the partitions of a replicated root have less than its checkpoint files have said, until `settle`.

        It is known after another start too, unless the log has all again.
        """
        return MappingProxyType(self._shortfalls.found)

    @property
    def other_roots(self) -> OtherRoots | None:
        """What was kept here of the broker's other roots, if that is of the same stop in order as this root."""
        return self._other_roots

    @property
    def directory_id(self) -> str | None:
        """The id of a root that was formatted for a broker, by its meta.properties."""
        path = self.root / META_PROPERTIES_NAME
        return MetaProperties.read(path).directory_id if path.exists() else None

    @property
    def claims(self) -> Mapping[TopicPartition, Claims]:
        """How far its replicated logs reach, as other roots keep it of one that is about to be closed."""
        return {
            partition: Claims(
                recovery_point=log.log_end_offset,
                high_watermark=log.high_watermark,
                log_start_offset=max(log.log_start_offset, log.segments[0].base_offset),
            )
            for partition, log in self._partitions.logs.items()
            if self._environment.replicated_of(partition)
        }

    def hear(self, claims: Mapping[TopicPartition, Claims]) -> None:
        """Compare with what another root has kept of this one: what is missing is in `shortfalls`. Raises OSError."""
        with self._guard.lock:
            self._shortfalls.hear(claims)

    @property
    def has_all_checkpoint_files(self) -> bool:
        """Whether, as it was opened, no checkpoint file was damaged, and that was there which each stop writes."""
        return self._said.are_as_left

    def hold_back_checkpoints(self) -> None:
        """Write no recovery points until `miss`, where such files were missing or damaged as the root was opened.

        A later start, before anybody could say what the root lacks, sees then that it has lost something.
        """
        self._checkpoints.hold_back()

    def miss(self, evidence: Mapping[TopicPartition, str]) -> None:
        """Note in `shortfalls` partitions that are gone, and that no file speaks of, by evidence that they were here.

        It is kept, and only then are the checkpoint files written by whose lack it was found. Raises OSError, and
        OfflineDirectoryError.
        """
        with self._guard.lock:
            for partition, each in evidence.items():
                self._shortfalls.miss(partition, each)
            self._shortfalls.keep()
            self._checkpoints.settle()
            self._writer.write_recovery_points()

    def keep_others(self, others: OtherRoots) -> None:
        """Keep what other roots hold. Raises OSError."""
        others.write(self.root, self._environment.filesystem)

    def forget_others(self) -> None:
        """Remove what was kept of other roots, which is heard by now. Raises OSError."""
        if self._other_roots is not None:
            OtherRoots.remove(self.root, self._environment.filesystem)

    @property
    def begun(self) -> AbstractSet[TopicPartition]:
        """The partitions whose creation has not come to its end, and may have left a directory: `create` resumes it."""
        return self._creation.begun

    @property
    def set_aside(self) -> Mapping[str, DirectoryMark]:
        """The directories marked `-future` or `-stray`, by name, which are left to a broker; see `futures`.

        The entries of their partitions in the checkpoint files are kept. Kafka opens such logs too.
        """
        return MappingProxyType(self._partitions.set_aside)

    @property
    def failure(self) -> OSError | None:
        """What took the root offline; None while it is online."""
        return self._disk.failure

    @property
    def shortage(self) -> OSError | None:
        """What a call was answered that found no space on the disk; None while there is some, or the disk has failed.

        `run_periodic` sees whether there is space again, within seconds.
        """
        return None if self._disk.failure is not None else self._disk.space.shortage

    @property
    def clock_doubt(self) -> ClockDoubt | None:
        """Why nothing is deleted by age: the clock is not trusted now. None where it is, or was given by the caller."""
        clock = watched(self._environment.clock)
        return None if clock is None else clock.doubt

    def log(self, partition: TopicPartition) -> Log:
        """Return a log. Raises TypeError, OfflineDirectoryError, UnknownPartitionError or the error in `unreadable`."""
        ensure_is_partition(partition)
        self._guard.ensure_online()
        if partition in self._partitions.unreadable:
            raise self._partitions.unreadable[partition]
        if partition not in self._partitions.logs:
            raise UnknownPartitionError(f"there is no partition {partition}", file=self.root, advice="create it first")
        return self._partitions.logs[partition]

    # --- appending

    def append_batches(
        self,
        batches: Mapping[TopicPartition, Buffer],
        *,
        leader_epochs: Mapping[TopicPartition, int] = _ANY_EPOCH,
    ) -> dict[TopicPartition, AppendInfo | LogStoreError | OSError]:
        """Append to several partitions as a follower, in order, as `Log.append_batches` does to each.

        Returns what was appended, by partition. In its place stands the error of a partition that refused its batches,
        or whose disk failed; the others are appended all the same. `leader_epochs` has the epochs of the leaders that
        the batches were fetched from, where those are known.

        Raises DirectoryLockedError once closed, OfflineDirectoryError, and TypeError for what are no batches: then
        the partitions before it have been appended to. Kafka: ReplicaManager.appendRecords.

        >>> done = directory.append_batches({TopicPartition("orders", 0): fetched, TopicPartition("orders", 1): more})
        >>> {partition: result for partition, result in done.items() if isinstance(result, Exception)}
        {}
        """
        self._guard.ensure_online()
        known = self._partitions.logs.get
        done: dict[TopicPartition, AppendInfo | LogStoreError | OSError] = {}
        for partition, data in batches.items():
            try:
                log = known(partition) or self.log(partition)
                leader_epoch = leader_epochs.get(partition, MAX_EPOCH) if leader_epochs else MAX_EPOCH
                done[partition] = log.append_batches(data, leader_epoch=leader_epoch)
            except (LogStoreError, OSError) as error:
                done[partition] = error
        return done

    # --- partitions come and go

    def create(self, partition: TopicPartition, *, topic_id: UUID | None = None) -> Log:
        """Create a partition and open its empty log.

        Raises InvalidDirectoryNameError, PartitionExistsError, OSError.
        """
        self._guard.ensure_not_nested()
        with self._guard.lock:
            self._guard.ensure_online()
            self._shortfalls.settle(partition)
            return self._creation.create(partition, topic_id)

    def create_many(self, topic_ids: Mapping[TopicPartition, UUID | None]) -> None:
        """Create partitions at once, with the ids of their topics, in the time that the disk takes for a few.

        Raises what `create` raises for one of them: some of the others are there by then, and some are not.
        """
        self._guard.ensure_not_nested()
        with self._guard.lock:
            self._guard.ensure_online()
            for partition in topic_ids:
                self._shortfalls.settle(partition)
            self._creation.create_many(topic_ids)

    def recover(self, partition: TopicPartition) -> Log:
        """Close a poisoned log and return a new one, opened again and checked from its recovery point on.

        If the call is interrupted, the log is closed; the next call continues. Raises the errors of `log` and
        `Log.open`, and LogClosedError if its directory no longer exists.
        """
        self._guard.ensure_not_nested()
        with self._guard.lock, self._disk.watched():
            known = self.log(partition).give_up()
            log = self._partitions.logs[partition] = self._opener.open(partition, known)
            return log

    def delete(self, partition: TopicPartition) -> None:
        """Delete a partition: its directory is renamed now, and removed `file_delete_delay_ms` later.

        This needs no disk space, so it also works when the disk is full. If the call is interrupted, the partition may
        already be closed; the next call continues. Raises UnknownPartitionError, OSError.
        """
        self._guard.ensure_not_nested()
        with self._guard.lock, self._disk.watched():
            self._guard.ensure_online()
            self.log(partition).abandon()
            self._deletion.delete(partition)
            self._shortfalls.settle(partition)

    def disregard(self, partition: TopicPartition) -> None:
        """Forget what a partition lacks that is not wanted here any more; a damaged log is left as it is."""
        with self._guard.lock:
            short = self._shortfalls.found.get(partition)
            if short is not None and short.damage is None:
                self._shortfalls.settle(partition)

    def settle(self, partition: TopicPartition, *, is_accepted: bool = False) -> None:
        """Forget what a partition lacks: nobody counts on it any more, or somebody has accepted the loss.

        It is in `shortfalls` no more, and after a crash within the next second it may be again. A damaged log that was
        held back is cut, what is cut is set aside, and it is opened. One whose first segments are missing is begun anew
        where they were, but where the loss `is_accepted`: then it begins with what is left. Raises what `Log.open`
        raises.
        """
        self._guard.ensure_not_nested()
        with self._guard.lock, self._disk.watched():
            short = self._shortfalls.found.get(partition)
            if short is not None and short.damage is not None:
                start = short.first_offset if is_accepted else None
                self._open_unreadable(partition, damage="cut", replicated=None, log_start_offset=start or 0)
            self._shortfalls.settle(partition)

    def open_unreadable(
        self, partition: TopicPartition, *, damage: Damage = "raise", replicated: bool | None = None
    ) -> Log:
        """Open one that is in `unreadable`, with a word of its own on what becomes of damage; the others stay open.

        That is for this once: the next opening asks what the root is opened with. `replicated` is by default what that
        says of the partition. Raises UnknownPartitionError for one that is not unreadable, and what `Log.open` raises.

        >>> directory.open_unreadable(TopicPartition("orders", 3), damage="hole").holes
        (Hole(start_offset=39, end_offset=40),)
        """
        ensure_is_partition(partition)
        self._guard.ensure_not_nested()
        with self._guard.lock, self._disk.watched():
            log = self._open_unreadable(partition, damage=damage, replicated=replicated)
            self._shortfalls.settle(partition)
            return log

    def _open_unreadable(
        self, partition: TopicPartition, *, damage: Damage, replicated: bool | None, log_start_offset: int = 0
    ) -> Log:
        self._guard.ensure_online()
        if partition not in self._partitions.unreadable:
            raise UnknownPartitionError(
                f"the partition {partition} is not unreadable", file=self.root, advice="`unreadable` has those that are"
            )
        log = self._loader.open(
            partition, self._said, damage=damage, replicated=replicated, log_start_offset=log_start_offset
        )
        del self._partitions.unreadable[partition]
        self._checkpoints.take_up(partition)
        self._loader.adopt(self._write_all_checkpoints)
        return log

    def set_aside_stray(self, partition: TopicPartition) -> Path:
        """Remove a partition that is no longer its broker's: its directory is marked `-stray`, and kept.

        Returns its new path. Kafka does so at start (LogManager.loadLog), and leaves the removal to the operator.
        Raises what `log` raises, and OSError.
        """
        self._guard.ensure_not_nested()
        with self._guard.lock, self._disk.watched():
            self._guard.ensure_online()
            close_or_abandon(self.log(partition))
            self._shortfalls.settle(partition)
            return self._deletion.set_aside(partition)

    # --- what is due from time to time

    def run_periodic(self) -> None:
        """Run the tasks that are due: flush by `flush_ms`, write checkpoints, enforce retention, remove deleted files.

        A failed disk takes the root offline, and `failure` is set. If the disk is full, a failed task is retried when
        it is next due. This does nothing once the directory is closed, or during another call of this thread. Raises
        nothing.
        """
        guard = self._guard
        if guard.is_inherited or guard.is_in_call:
            return
        with guard.lock:
            for task in self._schedule.due(self._environment.clock()):
                if guard.is_online:
                    with suppress(OSError), self._disk.watched():
                        task()

    def checkpoint(self) -> None:
        """Write the recovery points and the log start offsets, durably.

        Raises DirectoryLockedError once closed, OfflineDirectoryError, OSError.
        """
        self._guard.ensure_not_nested()
        with self._guard.lock:
            self._writer.write_recovery_points()

    def checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks, durably.

        Raises DirectoryLockedError once closed, OfflineDirectoryError, OSError.
        """
        self._guard.ensure_not_nested()
        with self._guard.lock:
            self._writer.write_high_watermarks()

    def flush_due_logs(self) -> None:
        """Flush the logs whose `flush_ms` has passed since their last flush here. Raises OSError."""
        self._upkeep.flush_due_logs()

    def enforce_retention(self) -> None:
        """Delete segments by age and size in all logs, and remove the state of idle producers. Raises OSError."""
        self._upkeep.enforce_retention()

    def compact(self) -> "Mapping[TopicPartition, CompactionReport]":
        """Compact the logs whose `min_cleanable_dirty_ratio` or `max_compaction_lag_ms` is exceeded, one after another.

        Returns what was done, by partition. `run_periodic` does not do this, as it takes long: call it from a thread
        of your own. A log that is truncated meanwhile, closed or poisoned is left out. Then the cleaner's checkpoint
        is written. Raises what is wrong with a log, as damage or a full disk, once all others are compacted, with a
        note for each further one; and what `checkpoint` raises. A failed disk takes the root offline at once.
        """
        return self._compaction.compact()

    def notice_failures(self) -> None:
        """Mark the root offline if a write or fsync of a log has failed. `run_periodic` checks this first.

        A log that was poisoned because a call was interrupted (LogPoisonedError), for example by a full disk, does not
        take the root offline: see `recover`.
        """
        self._guard.ensure_not_nested()
        with self._guard.lock:
            self._disk.notice_failures()

    def remove_deleted(self) -> None:
        """Remove the directories of deleted partitions whose delay has passed. Raises OSError."""
        self._deleted.remove_due(self._environment.clock())

    # --- copying

    def backup(self, root: str | os.PathLike[str]) -> "Mapping[TopicPartition, LogBackup]":
        """Copy all open logs to another root, as `Log.backup` does; return what the backup has of each.

        Each log is copied as it was at one moment; those of two logs may differ. Appends and reads go on meanwhile, and
        partitions may come and go. What is `unreadable` or `set_aside` is not in the backup. Raises what `Log.backup`
        raises, OfflineDirectoryError, and DirectoryLockedError once closed.
        """
        self._guard.ensure_not_nested()
        self._guard.ensure_online()
        from logstore.directory.directory_backup import DirectoryBackups  # noqa: PLC0415  start-up time

        backups = DirectoryBackups(self._environment, self._partitions)
        return backups.make(Path(root).absolute())

    # --- the end

    def close(self) -> None:
        """Flush and close all logs, write the checkpoints and the clean-shutdown file, release the lock.

        After a disk failure only the lock is released. If a log cannot be closed, all others still are. Raises OSError,
        or NotClosedError if several failed; the logs are then recovered at the next open. In a forked process this
        closes the copy of the directory and does not change the directory.
        """
        if self._guard.is_inherited:
            return
        self._guard.ensure_not_nested()
        self._guard.ensure_logs_not_nested()
        self._thread.stop()
        with self._guard.lock:
            try:
                if self._guard.is_online:
                    with self._disk.watched():
                        with suppress(OSError):  # what it says too much is found out at the next start
                            self._shortfalls.keep()
                        self._closing.close_in_order(self.broker_epoch)
            finally:
                self._closing.let_go()

    def abandon(self) -> None:
        """Close all files and write nothing, as if the process had died."""
        if self._guard.is_inherited:
            return
        self._guard.ensure_not_nested()
        self._guard.ensure_logs_not_nested()
        self._thread.stop()
        with self._guard.lock:
            self._closing.let_go()

    # --- opening

    def _load(self, progress: OnBytes) -> None:
        known = self._said = self._checkpoints.read()
        # Before any log is touched.
        stopped = take_clean_shutdown(self.root, self._environment.filesystem)
        # How far the logs reached is not known without: they may have lost anything.
        self.broker_epoch = stopped.broker_epoch if known.are_as_left else UNKNOWN_BROKER_EPOCH
        start = time.perf_counter()
        self._loader.load(known, progress)
        self._shortfalls.look(known)
        others = OtherRoots.read(self.root) if known.clean_shutdown else None
        self._other_roots = others if others and others.broker_epoch == stopped.broker_epoch else None
        if not known.clean_shutdown:
            reports = (log.report for log in self._partitions.logs.values())
            self.recovery = DirectoryRecovery.of(reports, time.perf_counter() - start)
        self._loader.adopt(self._write_all_checkpoints)
        self._fill_reserve()

    def _fill_reserve(self) -> None:
        if self._environment.reserve is not None:
            self._environment.reserve.fill_for(len(self._partitions.logs))

    def _write_all_checkpoints(self) -> None:
        self.checkpoint()
        self.checkpoint_high_watermarks()
