"""One entry of a broker's log.dirs, read-only (the reading side of Kafka's LogManager)."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from logstore.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.directory_listing import DirectoryListing, list_directory
from logstore.directory_lock import LOCK_NAME
from logstore.errors import NotALogDirectoryError
from logstore.file_name import FileKind, parse_file_name
from logstore.meta_properties import META_PROPERTIES_NAME
from logstore.offset_checkpoint import OFFSET_CHECKPOINTS
from logstore.partition_directory import PartitionDirectory
from logstore.root_checkpoints import RootCheckpoints
from logstore.topic_partition import DirectoryMark, is_partition_directory_name, parse_directory_name

BOOTSTRAP_CHECKPOINT_NAME = "bootstrap.checkpoint"
ROOT_FILES = frozenset(
    {*OFFSET_CHECKPOINTS, META_PROPERTIES_NAME, CLEAN_SHUTDOWN_NAME, LOCK_NAME, BOOTSTRAP_CHECKPOINT_NAME}
)
ROOT_DIRECTORIES = frozenset({"remote-log-index-cache"})
"""What a broker with tiered storage keeps beside the partitions: copies of remote indexes (KIP-405)."""


@dataclass(frozen=True)
class LogRoot:
    """The partitions under one root, and the files beside them."""

    path: Path
    listing: DirectoryListing
    checkpoints: RootCheckpoints

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """List the root. NotALogDirectoryError where there is neither a partition nor a file of Kafka's in it."""
        path = Path(path).absolute()
        listing = list_directory(path, root=path)
        known = ROOT_FILES.intersection(listing.files)
        if not known and not any(map(_may_be_partition, listing.directories.values())):
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

    def partitions(self) -> Iterator[PartitionDirectory]:
        """Open the live partitions, by name; one that its broker removed since the root was listed is left out.

        Raises OSError where a directory cannot be read.
        """
        for name in self.live_names():
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
            if is_partition_directory_name(name) and parse_directory_name(name).mark is DirectoryMark.NONE:
                yield name

    def open_partition(self, name: str) -> PartitionDirectory:
        """Open the partition in the directory `name`.

        Raises NotALogDirectoryError where it is gone since the root was listed, and OSError where it cannot be read.
        """
        return PartitionDirectory.open(self.path / name, root=self.path, checkpoints=self.checkpoints)


def open_log_directory(path: str | os.PathLike[str]) -> LogRoot | PartitionDirectory:
    """Open a partition directory or a whole log.dirs root, whichever `path` is."""
    path = Path(path).absolute()
    return PartitionDirectory.open(path) if _looks_like_partition(path) else LogRoot.open(path)


def _may_be_partition(path: Path) -> bool:
    """Tell a partition, be all its files links, from a broker's root or anything else with a name like `broker-1`."""
    if not is_partition_directory_name(path.name):
        return False
    try:
        names = [entry.name for entry in path.iterdir()]
    except OSError:  # whoever opens it says why
        return True
    return any(map(_is_kafkas, names)) and not ROOT_FILES.intersection(names)


def _looks_like_partition(path: Path) -> bool:
    """Judge by what is in it too, since a root may be called `disk-1`."""
    if not is_partition_directory_name(path.name) or not path.is_dir():
        return False
    return any(map(_is_kafkas, list_directory(path, root=path).files))


def _is_kafkas(name: str) -> bool:
    return parse_file_name(name).kind not in {FileKind.UNKNOWN, FileKind.TEMPORARY}
