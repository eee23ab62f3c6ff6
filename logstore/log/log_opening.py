"""What it takes to open a log: its directory, its locks, what is known of it, and its files."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from epoch.base.resource_limits import OUT_OF_SPACE, is_limit, name_memory, refuse_beyond_limit
from logstore.errors import DamagedLogError, NotALogDirectoryError, complete
from logstore.file_name import META_PROPERTIES_NAME, FileKind, parse_file_name
from logstore.files.directory_lock import LOCK_NAME, DirectoryLock
from logstore.files.offset_checkpoint import CLEANER_OFFSET_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT
from logstore.files.only_copy.offset_gaps import OffsetGaps
from logstore.files.only_copy.promised_offsets import (
    PROMISED_OFFSETS_NAME,
    UNKNOWN_EPOCH,
    UNKNOWN_START,
    EpochsChecksum,
    Promise,
    PromisedOffsets,
    SmallFiles,
)
from logstore.files.own_checkpoints import OwnCheckpoints
from logstore.recovery.damage_policy import DamagePolicy
from logstore.recovery.log_loader import load_log
from logstore.topic_partition import (
    ALWAYS_COMPACTED,
    is_partition_directory_name,
    parse_directory_name,
    partition_standing_alone,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from logstore.files.only_copy.promised_offsets import Promise
    from logstore.files.root_checkpoints import PartitionCheckpoints
    from logstore.log.state.log_environment import LogEnvironment
    from logstore.recovery.loaded_log import LoadedLog
    from logstore.topic_partition import (
        TopicPartition,
    )


def ignore_progress(_: int) -> None:
    """Ignore the progress of recovery."""


def refuse_to_readers(**is_given: bool) -> None:
    """Raise TypeError where arguments are given that mean nothing to who only reads a log."""
    names = [f"`{name}`" for name, given in is_given.items() if given]
    if names:
        raise TypeError(
            f"{', '.join(names)} cannot be given with read_only=True, by which nothing is written or recovered: "
            "pass the directory, and perhaps poll_seconds=0.05"
        )


class LogOpening:
    """The steps of opening a log, in the order of these methods; without `checkpoints` it stands alone."""

    def __init__(self, environment: LogEnvironment, checkpoints: PartitionCheckpoints | None) -> None:
        """Touch nothing yet. Raises InvalidDirectoryNameError."""
        self._environment = environment
        self._checkpoints = checkpoints
        name = environment.directory.name
        self.topic_partition: TopicPartition = (
            partition_standing_alone(name) if checkpoints is None else parse_directory_name(name).topic_partition
        )
        self.own_checkpoints: OwnCheckpoints | None = self._checkpoint_files() if checkpoints is None else None
        """Of a log that stands alone."""
        self.promised: PromisedOffsets | None = self._promised_offsets()
        """Of a log that no other node has a copy of."""
        self._promise: Promise | None = None
        self._of_others: tuple[str, ...] = ()
        self.directory_lock: DirectoryLock | None = None
        """Of a log that stands alone, once it is locked."""

    def make_directory(self) -> None:
        """Create the directory, durably, if it is missing. Raises NotALogDirectoryError for a root of logs; OSError."""
        path, filesystem = self._environment.directory, self._environment.filesystem
        if not path.is_dir():
            try:
                filesystem.mkdir(path)
            except FileExistsError:  # another process makes it, too: the lock decides between them
                if not path.is_dir():
                    raise
            filesystem.fsync_directory(path.parent)
        elif self._checkpoints is None and not any(path.glob(f"*.{FileKind.LOG}")):
            _ensure_is_no_root(path)
            # Whoever made it may have come no further, or be somebody who does not sync. Who may not read the directory
            # that it is in was given this one.
            with suppress(PermissionError):
                filesystem.fsync_directory(path.parent)

    def lock(self) -> None:
        """Lock the directory of a log that stands alone. Raises DirectoryLockedError, OSError."""
        if self._checkpoints is None:
            directory = self._environment.directory
            self.directory_lock = DirectoryLock(directory / LOCK_NAME)
            _lock_alone(self.directory_lock, directory)

    def known(self) -> PartitionCheckpoints:
        """Return what the checkpoint files say of the log. Raises OSError."""
        if self._checkpoints is not None:
            return self._checkpoints
        files = self._checkpoint_files()
        known = files.read()
        self._of_others = files.of_others
        return known

    def load(
        self, known: PartitionCheckpoints, progress: Callable[[int], object], *, check_all: bool = False
    ) -> LoadedLog:
        """Load the log's files, and recover them if needed. Raises what `load_log` raises."""
        if self._is_new(known):
            return self._load(known, progress, check_all=check_all)  # nobody needs one on a full disk
        # What is done before the disk is found full is done again: it would be by the next open.
        loaded = self._environment.insist(lambda: self._load(known, progress, check_all=check_all))
        loaded.report.ignored_checkpoints += self._of_others
        return loaded

    def _load(self, known: PartitionCheckpoints, progress: Callable[[int], object], *, check_all: bool) -> LoadedLog:
        environment = self._environment
        promise = self._promise = self._read_promise(known)
        start, recovery_point = known.log_start_offset, known.recovery_point or 0
        if promise is not None:
            recovery_point = promise.recovery_point
            start = start if promise.log_start_offset == UNKNOWN_START else promise.log_start_offset
        elif self.promised is not None and environment.damage is DamagePolicy.RAISE:
            _ensure_start_is_known(environment.directory, known)
        return load_log(
            environment.directory,
            environment.config,
            log_start_offset=start,
            cleaner_offset=known.cleaner_offset,
            recovery_point=recovery_point,
            clean_shutdown=known.clean_shutdown,
            was_compacted=self._was_compacted(known),
            has_remote=self._has_remote(known),
            damage=environment.damage,
            promise=promise,
            is_in_root=self._checkpoints is not None,
            check_all=check_all,
            filesystem=environment.filesystem,
            clock=environment.clock,
            expiry_clock=environment.expiry_ms,
            open_files=environment.open_files,
            progress=progress,
        )

    def _was_compacted(self, known: PartitionCheckpoints) -> bool:
        """Whether a cleaner has been over the log, or may have been."""
        has_offset = known.cleaner_offset is not None or CLEANER_OFFSET_CHECKPOINT in known.unread
        return has_offset or self.topic_partition.topic in ALWAYS_COMPACTED

    def _has_remote(self, known: PartitionCheckpoints) -> bool | None:
        """Whether remote storage has what lies below the first segment; None where nobody says it.

        It has nothing of what brokers have never written: of a log with promises, and of one that stands alone and has
        once begun with segments that are gone.
        """
        told = self._environment.config.remote_storage_enable
        if told is not None or self._promise is not None:
            return bool(told)
        if self.own_checkpoints is None or known.log_start_offset is None:
            return None
        files = map(parse_file_name, (path.name for path in self._environment.directory.iterdir()))
        first = min((each.base_offset or 0 for each in files if each.kind is FileKind.LOG), default=0)
        return False if known.log_start_offset < first else None

    def _promised_offsets(self) -> PromisedOffsets | None:
        environment = self._environment
        if environment.damage.is_replicated:
            return None
        return PromisedOffsets(environment.directory, environment.filesystem)

    def _read_promise(self, known: PartitionCheckpoints) -> Promise | None:
        """Return what was promised; None where nobody knows, or other nodes have copies. Raises OSError."""
        if self.promised is None:
            # What is told of these grows old: brokers truncate, and compact.
            PromisedOffsets(self._environment.directory, self._environment.filesystem).remove()
            OffsetGaps.remove(self._environment.directory, self._environment.filesystem)
            return None
        promise = self.promised.read()
        if promise is None and self._is_new(known):
            self.promised.take_back(0, known.log_start_offset or 0)  # before it has segments
            promise = self.promised.read()
        return None if promise is None else promise.beside(known)

    def _is_new(self, known: PartitionCheckpoints) -> bool:
        """Whether nothing was ever written to the log, as far as anybody knows."""
        names = [path.name for path in self._environment.directory.iterdir()]
        return not known.recovery_point and not any(name.endswith(f".{FileKind.LOG}") for name in names)

    def note_promise(self, loaded: LoadedLog) -> None:
        """Write what is promised from now on, where that is kept: after damage it is less. Raises OSError."""
        if self.promised is None:
            return
        start, recovery_point = loaded.log_start_offset, loaded.recovery_point
        found = max((entry.epoch for entry in loaded.report.epochs_before), default=UNKNOWN_EPOCH)
        files = SmallFiles.now(
            loaded.epochs,
            loaded.gaps,
            is_followed=loaded.is_followed,
            found_epoch=found,
            checksum=EpochsChecksum().of(loaded.epochs),
        )
        if self._promise is not None and recovery_point < self._promise.recovery_point:
            self.promised.take_back(recovery_point, start, files, cut_from=self._promise.recovery_point)
        elif self._promise is not None:
            self.promised.note(recovery_point, start, files)

    def mark_open(self) -> None:
        """Note of a log that stands alone that a crash from now on needs recovery. Raises OSError."""
        if self.own_checkpoints is not None:
            self.own_checkpoints.mark_open()
            if self._environment.reserve is not None:
                self._environment.reserve.fill()

    def take_back(self, loaded: LoadedLog | None, error: BaseException) -> None:
        """Close what was opened before `error`. Raises ResourceLimitError, OutOfMemoryError where that is its cause."""
        for segment in loaded.segments if loaded is not None else ():
            segment.abandon()
        if self.directory_lock is not None:
            self.directory_lock.release()
        path = self._environment.directory
        if isinstance(error, OSError) and is_limit(error):
            refuse_beyond_limit(error, path)
        if isinstance(error, OSError) and error.errno in OUT_OF_SPACE:
            complete(error, path, "the log was not opened, and keeps what it has: make space, and open it again")
        name_memory(error, path)

    def _checkpoint_files(self) -> OwnCheckpoints:
        return OwnCheckpoints(self._environment.directory, self.topic_partition, self._environment.filesystem)


def _ensure_is_no_root(directory: Path) -> None:
    """Raise NotALogDirectoryError for a root: its checkpoint files would be overwritten with those of one log."""
    for path in directory.iterdir():
        if path.name == META_PROPERTIES_NAME or (is_partition_directory_name(path.name) and path.is_dir()):
            raise NotALogDirectoryError(
                f"this is a root of logs and not a log: it holds {path.name}",
                file=directory,
                advice="open it with LogDirectory.open, or name a directory of the log's own",
            )


def _lock_alone(lock: DirectoryLock, directory: Path) -> None:
    """Lock the directory of a log that stands alone, not within a root that another process has locked.

    In this order: who locks the root looks at the logs' own locks afterwards, so that one of the two notices.
    """
    lock.take()
    try:
        DirectoryLock.ensure_free(directory.parent)
    except BaseException:
        lock.withdraw()
        raise


def _ensure_start_is_known(directory: Path, known: PartitionCheckpoints) -> None:
    """Raise DamagedLogError where nothing says where an only copy starts, and a file is there that did."""
    path = directory / LOG_START_OFFSET_CHECKPOINT
    is_emptied = path.is_file() and not path.stat().st_size  # which Kafka takes for one without entries
    if not (is_emptied or path.name in known.unread) or not any(directory.glob(f"*.{FileKind.LOG}")):
        return
    raise DamagedLogError(
        f"where the log starts is not known: this file is damaged, and {PROMISED_OFFSETS_NAME} is missing or damaged",
        file=path,
        advice='nothing was changed: put a copy of the file in its place; or open the log with damage="hole" or '
        'damage="cut", by which it starts with its first segment: records that were deleted may be back',
    )
