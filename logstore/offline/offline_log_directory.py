"""One entry of a broker's log.dirs, read-only (the reading side of Kafka's LogManager)."""

import os
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from logstore.errors import NotALogDirectoryError
from logstore.file_name import META_PROPERTIES_NAME, FileKind, parse_file_name
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.directory_lock import LOCK_NAME
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS
from logstore.files.own_checkpoints import OWN_CHECKPOINTS
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.offline.directory_listing import DirectoryListing, list_directory
from logstore.offline.partition_directory import PartitionDirectory, holds_segments
from logstore.topic_partition import DirectoryMark, is_partition_directory_name, parse_directory_name

BOOTSTRAP_CHECKPOINT_NAME = "bootstrap.checkpoint"
ROOT_FILES = frozenset(
    {*OFFSET_CHECKPOINTS, META_PROPERTIES_NAME, CLEAN_SHUTDOWN_NAME, LOCK_NAME, BOOTSTRAP_CHECKPOINT_NAME}
)
"""What a broker keeps beside the partitions."""
_ROOTS_ALONE = ROOT_FILES - OWN_CHECKPOINTS - {LOCK_NAME}
"""Files that only a root has; the others also stand in the directory of a log that stands alone (`Log.open`)."""
SIGNS_OF_A_ROOT = ROOT_FILES - {LOCK_NAME}
"""Anybody's directory may have a `.lock`."""
ROOT_DIRECTORIES = frozenset({"remote-log-index-cache"})
"""What a broker with tiered storage keeps beside the partitions: copies of remote indexes (KIP-405)."""


@dataclass(frozen=True)
class OfflineLogDirectory:
    """The partitions under one root, and the files beside them."""

    path: Path
    listing: DirectoryListing
    checkpoints: RootCheckpoints

    def __repr__(self) -> str:
        return f"OfflineLogDirectory({self.path})"

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """List the root. Raises NotALogDirectoryError if it holds neither a partition nor a file of Kafka's."""
        path = Path(path).absolute()
        listing = list_directory(path, root=path)
        if not has_root_files(listing.files) and not any(map(_may_hold_partition, listing.directories.values())):
            raise NotALogDirectoryError(
                "neither a log.dirs root nor a partition directory: it holds no topic-partition directories and no "
                "checkpoint files",
                file=path,
                advice="name the directory that holds directories such as orders-0; of several brokers' copies, "
                "name each",
            )
        return cls(path, listing, RootCheckpoints.read(path))

    @property
    def name(self) -> str:
        """What replicas in this root are called: the directory's name."""
        return self.path.name

    def partitions(self, *, without: Container[str] = ()) -> Iterator[PartitionDirectory]:
        """Open the live partitions, sorted by name, except those in `without`, by their directories' names.

        Partitions that a broker removed since the root was listed are ignored. Raises OSError if a directory cannot be
        read.
        """
        for name in (each for each in self.live_names() if each not in without):
            try:
                partition = self.open_partition(name)
            except (NotALogDirectoryError, FileNotFoundError):
                if (self.path / name).exists():
                    raise
                continue
            yield partition

    def live_names(self) -> Iterator[str]:
        """Name the directories of the live partitions: those that are not being deleted, moved, or stray."""
        for name in self.listing.directories:
            if is_live_partitions(name):
                yield name

    def links(self) -> Iterator[Path]:
        """Find the symbolic links that bear live partitions' names, wherever they lead: nobody writes through them."""
        listing = self.listing
        for name, path in sorted({**listing.directories, **listing.escaping_links, **listing.other}.items()):
            if is_live_partitions(name) and path.is_symlink():
                yield path

    def open_partition(self, name: str) -> PartitionDirectory:
        """Open the partition in the directory `name`.

        Raises NotALogDirectoryError where it is gone since the root was listed, and OSError where it cannot be read.
        """
        return PartitionDirectory.open(self.path / name, root=self.path, checkpoints=self.checkpoints)


def is_live_partitions(name: str) -> bool:
    """Whether a directory's name is that of a live partition: not of one being deleted, moved, or stray."""
    return is_partition_directory_name(name) and parse_directory_name(name).mark is DirectoryMark.NONE


def holds_partition(name: str, files: Iterable[str]) -> bool:
    """Whether a directory is a partition's, by its name and by the names of the files in it.

    So is that of a log that stands alone, whose checkpoint files are beside its segments; a root is not, whose name may
    look like a partition's.

    >>> holds_partition("orders-0", ["00000000000000000000.log", "recovery-point-offset-checkpoint"])
    True
    >>> holds_partition("broker-1", ["meta.properties", "recovery-point-offset-checkpoint"])
    False
    """
    names = frozenset(files)
    return is_partition_directory_name(name) and any(map(_is_partitions, names)) and not names & _ROOTS_ALONE


def has_root_files(files: Iterable[str]) -> bool:
    """Whether any of the files in a directory that is no partition's makes it a root, by their names.

    A directory without any is one too where `holds_partition` is true of a directory in it.
    """
    return not SIGNS_OF_A_ROOT.isdisjoint(files)


def open_offline(path: str | os.PathLike[str]) -> OfflineLogDirectory | PartitionDirectory:
    """Open a partition directory or a whole log.dirs root, whichever `path` is.

    The directory of a log that stands alone (`Log.open`) is a partition, whatever its name, and a directory of such
    that are named `topic-partition` is a root.
    """
    path = Path(path).absolute()
    is_partition = path.is_dir() and (_may_hold_partition(path) or _holds_log_of_any_name(path))
    return PartitionDirectory.open(path) if is_partition else OfflineLogDirectory.open(path)


def _may_hold_partition(path: Path) -> bool:
    """Do as `holds_partition`; one that cannot be listed may, and whoever opens it says why it cannot."""
    if not is_partition_directory_name(path.name):
        return False
    try:
        return holds_partition(path.name, [entry.name for entry in path.iterdir()])
    except OSError:
        return True


def _holds_log_of_any_name(path: Path) -> bool:
    if is_partition_directory_name(path.name):
        return False
    try:
        names = {entry.name for entry in path.iterdir()}
    except OSError:
        return False
    return holds_segments(names) and not names & _ROOTS_ALONE


def _is_partitions(name: str) -> bool:
    return parse_file_name(name).kind not in {FileKind.UNKNOWN, FileKind.TEMPORARY, FileKind.CURSOR}
