"""The several log.dirs roots of one broker: a disk that fails takes only its own partitions offline (KIP-112)."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self, TypedDict, Unpack
from uuid import UUID

from epoch.base.resource_limits import is_limit
from epoch.filesystem import FileSystem
from logstore.awaited_threads import AwaitedThreads
from logstore.closing import do_all
from logstore.directory.directory_settings import DirectorySettings
from logstore.directory.log_directory import LogDirectory
from logstore.directory.neighbours import hold_against_each_other, note_each_other
from logstore.directory.shortfalls.shortfall import Shortfall
from logstore.errors import (
    DuplicatePartitionError,
    LogStoreError,
    OfflineDirectoryError,
    PartitionExistsError,
    UnknownPartitionError,
)
from logstore.files.clean_shutdown import UNKNOWN_BROKER_EPOCH
from logstore.log.log import Log
from logstore.log.observers.log_observer import LogObserver
from logstore.log_config import LogConfig
from logstore.recovery.damage_policy import Damage
from logstore.recovery.segment_walk import OnBytes
from logstore.topic_partition import TopicPartition

_NONE: Final[Mapping[LogDirectory, Sized]] = MappingProxyType({})


class _Options(TypedDict, total=False):
    """What `LogDirectory.open` takes by name, for each root alike."""

    replicated: bool | Callable[[TopicPartition], bool]
    damage: Damage | Callable[[TopicPartition], Damage]
    check_all: bool
    settings: DirectorySettings | None
    filesystem: FileSystem
    clock: Callable[[], int]
    observer: LogObserver | None
    periodic: bool
    progress: OnBytes
    made: Callable[[LogDirectory], object]


class LogDirectories:
    """Several log.dirs roots of one broker, used as one; each is a `LogDirectory`.

    >>> with LogDirectories.open(["/disk-1/kafka-logs", "/disk-2/kafka-logs"]) as directories:
    ...     directories.log(TopicPartition("orders", 0)).log_end_offset
    """

    def __init__(self, roots: Iterable[LogDirectory], offline: dict[Path, OSError]) -> None:
        """Create it from roots that are open and those that could not be opened; see `open`."""
        self.roots: tuple[LogDirectory, ...] = tuple(roots)
        self._offline = offline
        self._being_made: dict[TopicPartition, object] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(str(directory.root) for directory in self.roots)})"

    @classmethod
    def open(
        cls,
        roots: Iterable[str | os.PathLike[str]],
        config: LogConfig | Callable[[TopicPartition], LogConfig] | None = None,
        *,
        duplicates: bool = False,
        **options: Unpack[_Options],
    ) -> Self:
        """Open each root in its own thread, with the options of `LogDirectory.open`.

        A root whose disk fails is offline from the start. Raises DirectoryLockedError; the disk's OSError if no root
        is left; DuplicatePartitionError if two roots hold the same partition, unless `duplicates` leaves them to a
        caller who knows which are stray. All locks are released if an error is raised.
        """
        opened: list[LogDirectory] = []
        paths = [Path(root).absolute() for root in roots]

        def open_root(path: Path) -> LogDirectory:
            directory = LogDirectory.open(path, config, **options)
            opened.append(directory)
            return directory

        try:
            with AwaitedThreads(max(len(paths), 1)) as threads:
                futures = {path: threads.submit(open_root, path) for path in paths}
            offline = _offline({path: future.exception() for path, future in futures.items()})
            directories = [future.result() for path, future in futures.items() if path not in offline]
            opened_all = cls(directories, offline)
            if not duplicates:
                opened_all.ensure_no_duplicates()
            hold_against_each_other(opened_all.roots)
            return opened_all  # noqa: TRY300  here, as something may be raised until it returns
        except BaseException:
            with suppress(OSError, LogStoreError):
                do_all([directory.abandon for directory in opened], "the log directories")
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def offline(self) -> dict[Path, OSError]:
        """The roots that are offline, and why."""
        return self._offline | {root.root: root.failure for root in self.roots if root.failure is not None}

    @property
    def broker_epoch(self) -> int:
        """The epoch of the broker that stopped last if all roots have the same, otherwise -1.

        Kafka: LogManager.readBrokerEpochFromCleanShutdownFiles. A new value is written to each root that is closed
        cleanly.
        """
        epochs = {root.broker_epoch for root in self.roots}
        return epochs.pop() if len(epochs) == 1 and not self.offline else UNKNOWN_BROKER_EPOCH

    @broker_epoch.setter
    def broker_epoch(self, epoch: int) -> None:
        for root in self.roots:
            root.broker_epoch = epoch

    @property
    def partitions(self) -> dict[TopicPartition, Log]:
        """The logs of all roots that are online."""
        return {partition: log for root in self.roots for partition, log in root.partitions.items()}

    @property
    def shortfalls(self) -> dict[TopicPartition, Shortfall]:
        """What the roots that are online have less than their checkpoint files have said, by partition.

        One that another root has is not gone: it was moved there.
        """
        found = {partition: short for root in self.roots for partition, short in root.shortfalls.items()}
        return {each: short for each, short in found.items() if not (short.is_gone and self._is_held(each))}

    def settle(self, partition: TopicPartition, *, is_accepted: bool = False) -> None:
        """Forget what a partition lacks; see `LogDirectory.settle`."""
        for root in self.roots:
            root.settle(partition, is_accepted=is_accepted)

    def disregard(self, partition: TopicPartition) -> None:
        """Forget what a partition lacks that is not wanted here any more; see `LogDirectory.disregard`."""
        for root in self.roots:
            root.disregard(partition)

    def get(self, partition: TopicPartition) -> Log | None:
        """Return a partition's log; None where no root that is online has one (Kafka: LogManager.getLog)."""
        found = (root.partitions.get(partition) for root in self.roots)
        return next((log for log in found if log is not None), None)

    def log(self, partition: TopicPartition) -> Log:
        """Return a partition's log. Raises UnknownPartitionError, or OfflineDirectoryError if it may be offline."""
        return self._root_of(partition).log(partition)

    def begun_in(self, partition: TopicPartition) -> LogDirectory | None:
        """Return the root, if it is online, in which the creation of a partition was broken off."""
        return next((root for root in self.roots if root.failure is None and partition in root.begun), None)

    def create(self, partition: TopicPartition, *, topic_id: UUID | None = None) -> Log:
        """Create a partition where its creation was broken off, otherwise in the root with the fewest, as Kafka does.

        Raises PartitionExistsError, OfflineDirectoryError if no root is online, and OSError.
        """
        with self._claimed([partition]):
            return self._root_for(partition).create(partition, topic_id=topic_id)

    def create_many(self, topic_ids: Mapping[TopicPartition, UUID | None]) -> None:
        """Create partitions at once, with the ids of their topics, each in the root that `create` takes.

        Raises what `create` raises for one of them: some of the others are there by then, and some are not.
        """
        with self._claimed(topic_ids):
            shares: dict[LogDirectory, dict[TopicPartition, UUID | None]] = {root: {} for root in self.roots}
            for partition, topic_id in topic_ids.items():
                shares[self._root_for(partition, shares)][partition] = topic_id
            for root, share in shares.items():
                if share:
                    root.create_many(share)

    def delete(self, partition: TopicPartition) -> None:
        """Delete a partition: its directory is renamed now, and removed later."""
        self._root_of(partition).delete(partition)

    def ensure_no_duplicates(self) -> None:
        """Raise DuplicatePartitionError where two roots hold one partition (Kafka: LogManager.loadLog).

        A directory marked `-future` is the copy of a move between the roots, and no such duplicate.
        """
        found: dict[TopicPartition, Path] = {}
        for directory in self.roots:
            for partition in (*directory.partitions, *directory.unreadable):
                path = directory.root / str(partition)
                other = found.setdefault(partition, path)
                if other != path:
                    raise DuplicatePartitionError(
                        f"two roots hold the partition {partition}: {other} and {path}",
                        file=path,
                        advice="keep the log that is right, and move the other out of its root",
                    )

    def run_periodic(self) -> None:
        """Do what is due in each root. Raises nothing."""
        for root in self.roots:
            root.run_periodic()

    def close(self) -> None:
        """Close all roots, even if one fails. Raises OSError, or NotClosedError if several failed."""
        with suppress(OSError, LogStoreError):  # then nobody is told by it
            note_each_other(self.roots, self.broker_epoch)
        do_all([root.close for root in self.roots], "the log directories")

    def abandon(self) -> None:
        """Close all files and write nothing, as if the process had died."""
        do_all([root.abandon for root in self.roots], "the log directories")

    @contextmanager
    def _claimed(self, partitions: Collection[TopicPartition]) -> Iterator[None]:
        """Reserve partitions that are being created. Raises PartitionExistsError where another call creates them."""
        # Each root refuses what it has itself only; a lock would be one more that a fork may inherit.
        claim = object()
        try:
            # Within, for what a signal handler raises right after it must not leave the claim behind.
            for partition in partitions:
                if self._being_made.setdefault(partition, claim) is not claim:
                    raise PartitionExistsError(f"another call is creating the partition {partition}")
            yield
        finally:
            for partition in partitions:
                if self._being_made.get(partition) is claim:
                    del self._being_made[partition]

    def _root_for(self, partition: TopicPartition, shares: Mapping[LogDirectory, Sized] = _NONE) -> LogDirectory:
        """Return where a partition was begun, otherwise the root with the fewest, counting those that it is to get.

        Raises PartitionExistsError, and OfflineDirectoryError if no root is online.
        """
        online = [root for root in self.roots if root.failure is None]
        if not online:
            raise OfflineDirectoryError("all log directories are offline", advice="replace the disks")
        for root in online:
            if partition in root.partitions or partition in root.unreadable:
                raise PartitionExistsError(f"the partition {partition} already exists", file=root.root)
        return self.begun_in(partition) or min(
            online, key=lambda root: len(root.partitions) + len(root.begun) + len(shares.get(root, ()))
        )

    def _is_held(self, partition: TopicPartition) -> bool:
        """Whether a root has a partition, readable or not."""
        return any(partition in root.partitions or partition in root.unreadable for root in self.roots)

    def _root_of(self, partition: TopicPartition) -> LogDirectory:
        for root in self.roots:
            if partition in root.partitions or partition in root.unreadable:
                return root
        if self.offline:
            roots = ", ".join(map(str, self.offline))
            raise OfflineDirectoryError(
                f"there is no partition {partition} in the roots that are online", advice=f"it may be in {roots}"
            )
        raise UnknownPartitionError(f"no root holds the partition {partition}", advice="create it first")


def _offline(failures: Mapping[Path, BaseException | None]) -> dict[Path, OSError]:
    """Return the roots whose disk fails; raise what else failed, and where no root is left."""
    offline: dict[Path, OSError] = {}
    is_any_open = None in failures.values()
    for path, failure in failures.items():
        if isinstance(failure, OSError) and failure.errno is not None and is_any_open and not is_limit(failure):
            offline[path] = failure
        elif failure is not None:
            raise failure
    return offline
