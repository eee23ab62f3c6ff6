"""The offset checkpoint files of a root that is open (Kafka: LogManager's checkpoint methods, LogCleanerManager's)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.errors import inherited_directory
from logstore.files.offset_checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    OFFSET_CHECKPOINTS,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.log.log import Log
from logstore.log.state.call_guard import CallGuard
from logstore.log.state.root_claims import CutEnd
from logstore.topic_partition import TopicPartition

Cuts = tuple[Mapping[TopicPartition, CutEnd], ...]

_OF_OPEN_LOGS: Final = (RECOVERY_POINT_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, HIGH_WATERMARK_CHECKPOINT)


class FilesGuard(CallGuard):
    """Allows one thread at a time to write the files. Its lock is the last one that any thread takes."""

    def refuse(self) -> NoReturn:
        """Raise DirectoryLockedError: the directory is another process's."""
        raise inherited_directory(self._directory)


class CheckpointFiles:
    """Written from the open logs; entries of partitions that are not open here are kept.

    Whoever is about to cut a log has them claim no more than will be left. So they are right of what was cut on
    purpose, and whenever a crash comes, what a log lacks of their claims is lost.
    """

    def __init__(self, environment: DirectoryEnvironment, failed: Callable[[OSError], object]) -> None:
        """Write nothing yet; see `read`. `failed` is called where a file cannot be written for a log that is cut."""
        self._environment = environment
        self._failed = failed
        self._root = environment.root
        self.guard: FilesGuard = FilesGuard(environment.root, "checkpoint files of a log directory")
        self._cuts: list[Mapping[TopicPartition, CutEnd]] = []
        """Those that are under way."""
        self._unsure: set[str] = set()
        """The files whose writing was broken off: they may say what was to be written, or what was there before."""
        self._found: dict[str, OffsetCheckpoint] = {}
        self._others: set[TopicPartition] = set()
        self._cleaned = OffsetCheckpoint()
        """How far each log was compacted, of which that is known: those that are not here are not forgotten."""
        self._is_bare = False
        """Whether files were missing or damaged, and nobody has said since what the root lacks."""
        self._is_to_be_told = False
        """Whether somebody will say it."""

    def read(self) -> RootCheckpoints:
        """Read all files; one that cannot be read counts as empty."""
        checkpoints = RootCheckpoints.read(self._root)
        self._found = dict(checkpoints.offsets)
        self._cleaned = OffsetCheckpoint(self._found[CLEANER_OFFSET_CHECKPOINT])
        self._is_bare = not checkpoints.are_as_left
        return checkpoints

    def keep(self, partition: TopicPartition) -> None:
        """Keep the entries of a partition that is not open here."""
        self._others.add(partition)

    def take_up(self, partition: TopicPartition) -> None:
        """Write a partition's entries from its log from now on, as that is open."""
        self._others.discard(partition)

    def speak_of(self, partition: TopicPartition) -> bool:
        """Whether the files say how far a log reaches, as far as is known from reading and writing them."""
        return any(partition in self._found.get(name, ()) for name in _OF_OPEN_LOGS)

    def forget(self, partition: TopicPartition) -> None:
        """Note that a partition is gone: a root that has had logs need not be asked what it lacks."""
        self._is_bare = self._is_bare and self._is_to_be_told
        self._cleaned.pop(partition, None)
        self._others.discard(partition)

    def hold_back(self) -> None:
        """Go on to lack what is missing or damaged until `settle`, whatever logs there are: somebody will say more."""
        self._is_to_be_told = True

    def settle(self) -> None:
        """Know that what the root lacks is kept elsewhere, if it lacks anything."""
        self._is_bare = False

    def write_recovery_points(self, logs: Mapping[TopicPartition, Log]) -> None:
        """Write up to where each log is flushed, where it starts, and what has changed for the cleaner, durably.

        A root that lacked files and has no logs, or is held back, goes on to lack them until that is settled: with them
        it would seem to have lost nothing. Raises OSError.
        """
        if self._is_bare and (self._is_to_be_told or not (logs or self._others)):
            return
        with self._writing() as cuts:
            self._is_bare = False
            self._write(RECOVERY_POINT_CHECKPOINT, {each: log.end_of_flushed for each, log in logs.items()}, cuts)
            starts = {each: log.log_start_offset for each, log in logs.items() if _tells_start(log)}
            self._write(LOG_START_OFFSET_CHECKPOINT, starts, cuts)
            offsets = {each: log.cleaner_offset for each, log in logs.items()}
            cleaned = {each: offset for each, offset in offsets.items() if offset is not None}
            self._cleaned |= _lowered(CLEANER_OFFSET_CHECKPOINT, cleaned, cuts)
            if self._cleaned != self._found.get(CLEANER_OFFSET_CHECKPOINT, OffsetCheckpoint()):
                self._put(CLEANER_OFFSET_CHECKPOINT, OffsetCheckpoint(self._cleaned))

    def write_high_watermarks(self, logs: Mapping[TopicPartition, Log]) -> None:
        """Write the high watermarks, durably. Raises OSError."""
        with self._writing() as cuts:
            self._write(HIGH_WATERMARK_CHECKPOINT, {each: log.high_watermark for each, log in logs.items()}, cuts)

    def lower(self, cuts: Mapping[TopicPartition, CutEnd]) -> None:
        """Do as `RootClaims.lower`; what is claimed already is not written again."""
        with self._writing():
            self._lower(cuts)

    @contextmanager
    def cutting(self, partition: TopicPartition, cut: CutEnd) -> Iterator[None]:
        """Do as `RootClaims.cutting`."""
        cuts = {partition: cut}
        try:
            with self._writing():
                self._cuts.append(cuts)
                self._lower(cuts)
            yield
        finally:
            with suppress(ValueError):
                self._cuts.remove(cuts)

    @contextmanager
    def _writing(self) -> Iterator[Cuts]:
        """Keep other threads from writing; return the cuts that are under way before any log is asked."""
        self.guard.ensure_not_nested()
        with self.guard.lock:
            yield tuple(self._cuts)

    def _lower(self, cuts: Mapping[TopicPartition, CutEnd]) -> None:
        for name in OFFSET_CHECKPOINTS:
            found = self._found.get(name, OffsetCheckpoint())
            lowered = _lowered(name, found, (cuts,))
            if lowered != found or name in self._unsure:
                try:
                    self._put(name, OffsetCheckpoint(lowered))
                except OSError as error:
                    self._failed(error)
                    raise
        self._cleaned |= _lowered(CLEANER_OFFSET_CHECKPOINT, self._cleaned, (cuts,))

    def _write(self, name: str, offsets: dict[TopicPartition, int], cuts: Cuts) -> None:
        found = self._found.get(name, OffsetCheckpoint())
        kept = {partition: found[partition] for partition in self._others & found.keys()}
        self._put(name, OffsetCheckpoint(_lowered(name, kept | offsets, cuts)))

    def _put(self, name: str, checkpoint: OffsetCheckpoint) -> None:
        environment = self._environment
        self._unsure.add(name)
        environment.insist(lambda: checkpoint.write(self._root / name, environment.filesystem))
        self._found[name] = checkpoint
        self._unsure.discard(name)


def _lowered(name: str, offsets: Mapping[TopicPartition, int], cuts: Cuts) -> dict[TopicPartition, int]:
    """Return what a file is to say of logs that are being cut: no more than will be left."""
    lowered = dict(offsets)
    for partition, cut in (each for one in cuts for each in one.items()):
        if partition in lowered:
            most = cut.start if name == LOG_START_OFFSET_CHECKPOINT else cut.end
            lowered[partition] = min(lowered[partition], most)
    return lowered


def _tells_start(log: Log) -> bool:
    """Whether a log's start is written, as by Kafka: the others start where their first segment does."""
    return bool(log.config.remote_storage_enable) or log.log_start_offset != log.segments[0].base_offset
