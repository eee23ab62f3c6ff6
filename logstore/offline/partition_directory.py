"""One partition's directory, read-only (the reading side of Kafka's UnifiedLog)."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, Self

from logstore.errors import NotALogDirectoryError
from logstore.file_name import INDEX_KINDS, FileFate, FileKind, FileName, parse_file_name
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS
from logstore.files.own_checkpoints import OWN_CHECKPOINTS
from logstore.files.root_checkpoints import PartitionCheckpoints, RootCheckpoints
from logstore.offline.directory_listing import DirectoryListing, list_directory
from logstore.offline.segment import Segment
from logstore.topic_partition import (
    DirectoryMark,
    TopicPartition,
    is_partition_directory_name,
    parse_directory_name,
    partition_standing_alone,
)

ROOTS: Final = 32
"""Roots of which this process remembers what it has parsed."""

States = tuple[tuple[int, int, int, int] | None, ...]


def checkpoints_now(root: Path) -> RootCheckpoints:
    """Return what a root's checkpoint files say: with thousands of partitions parsing takes longer than looking at one.

    A broker puts new files in place of old ones, so that each has an inode and a time of its own.
    """
    names = (*OFFSET_CHECKPOINTS, CLEAN_SHUTDOWN_NAME)
    return _read(root, tuple(_state(os.path.join(root, name)) for name in names))  # noqa: PTH118  many times a second


@lru_cache(ROOTS)
def _read(root: Path, _states: States) -> RootCheckpoints:
    return RootCheckpoints.read(root)


def _state(path: str) -> tuple[int, int, int, int] | None:
    try:
        stat = os.lstat(path)
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def holds_segments(files: Iterable[str]) -> bool:
    """Whether any of the files, by their names, is a segment's `.log`."""
    return any(parse_file_name(name).kind is FileKind.LOG for name in files)


def _is_live_log(name: str) -> bool:
    parsed = parse_file_name(name)
    return parsed.kind is FileKind.LOG and parsed.fate is FileFate.LIVE


def _leads_anywhere(link: Path) -> bool:
    try:
        link.stat()
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class PartitionDirectory:
    """The files of one partition, and what its root's checkpoints say of it."""

    path: Path
    topic_partition: TopicPartition
    listing: DirectoryListing
    checkpoints: PartitionCheckpoints
    root: Path | None = None
    """Symbolic links may not lead outside of it; if it is None, not outside of the directory itself."""
    own_checkpoints: RootCheckpoints | None = None
    """The files of a log that stands alone (`Log.open`), which keeps its checkpoints beside its segments."""

    def __repr__(self) -> str:
        return f"PartitionDirectory({self.path})"

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, root: Path | None = None, checkpoints: RootCheckpoints | None = None
    ) -> Self:
        """List the directory.

        `root` bounds which symbolic links are followed: the partition directory itself unless given. Without
        `checkpoints`, those in the parent directory are read; for a standalone log, its own, and its directory may have
        any name. Raises NotALogDirectoryError if the name is not `topic-partition` and there are no segments.
        """
        path = Path(path).absolute()
        listing = list_directory(path, root=root or path)
        if not is_partition_directory_name(path.name):
            if not holds_segments(listing.files):
                raise NotALogDirectoryError(
                    "not a log's directory: it holds no segments, and its name is not topic-partition such as orders-0",
                    file=path,
                )
            return cls._of_any_name(path, listing, root)
        topic_partition, mark = parse_directory_name(path.name)[:2]
        known = checkpoints or checkpoints_now(path.parent)
        if OWN_CHECKPOINTS.intersection(listing.files) and not known.mentions(topic_partition):
            own = RootCheckpoints.read(path)
            return cls(path, topic_partition, listing, own.of(topic_partition), root, own)
        if mark is not DirectoryMark.NONE:
            # The checkpoints speak of the partition's live log, which is another directory's.
            only_clean_shutdown = PartitionCheckpoints(clean_shutdown=known.clean_shutdown)
            return cls(path, topic_partition, listing, only_clean_shutdown, root)
        return cls(path, topic_partition, listing, known.of(topic_partition), root)

    @classmethod
    def _of_any_name(cls, path: Path, listing: DirectoryListing, root: Path | None) -> Self:
        partition = partition_standing_alone(path.name)
        own = RootCheckpoints.read(path) if OWN_CHECKPOINTS.intersection(listing.files) else None
        return cls(path, partition, listing, own.of(partition) if own else PartitionCheckpoints(), root, own)

    def listed_again(self) -> Self:
        """List the directory and read the checkpoints again: a broker may have changed them.

        Raises NotALogDirectoryError if the directory is gone, and OSError.
        """
        if is_partition_directory_name(self.path.name):
            return self.open(self.path, root=self.root)
        # It is known to be a log's, which has no segment for a moment while it begins anew.
        listing = list_directory(self.path, root=self.root or self.path)
        return self._of_any_name(self.path, listing, self.root)

    def named(self, kind: FileKind, fate: FileFate = FileFate.LIVE) -> Iterator[tuple[FileName, Path]]:
        """Find the files of one kind, by name."""
        yield from self._by_kind.get((kind, fate), ())

    @cached_property
    def _by_kind(self) -> dict[tuple[FileKind, FileFate], list[tuple[FileName, Path]]]:
        by_kind: dict[tuple[FileKind, FileFate], list[tuple[FileName, Path]]] = {}
        for name, path in self.listing.files.items():
            parsed = parse_file_name(name)
            by_kind.setdefault((parsed.kind, parsed.fate), []).append((parsed, path))
        return by_kind

    @cached_property
    def segments(self) -> list[Segment]:
        """The segments that have a `.log` file, by base offset."""
        no_files = {*self.listing.other, *self.listing.escaping_links}
        by_offset: dict[int, dict[FileKind, Path]] = {}
        for kind in (FileKind.LOG, *INDEX_KINDS):
            for name, path in self.named(kind):
                by_offset.setdefault(name.base_offset or 0, {})[kind] = path
        return [
            Segment(base, files, is_file=files[FileKind.LOG].name not in no_files)
            for base, files in sorted(by_offset.items())
            if FileKind.LOG in files
        ]

    def with_hidden_segments(self) -> Self:
        """Count among the segments those with a pipe, a link to nothing or the like in place of their `.log`.

        What such a segment holds is not known, as of one that may not be read.
        """
        listing = self.listing
        dangling = {name: path for name, path in listing.escaping_links.items() if not _leads_anywhere(path)}
        hidden = {name: path for name, path in {**listing.other, **dangling}.items() if _is_live_log(name)}
        return replace(self, listing=replace(listing, files={**listing.files, **hidden})) if hidden else self

    @property
    def epoch_checkpoint_path(self) -> Path | None:
        """The leader-epoch checkpoint, None where it is missing."""
        return self.listing.files.get(FileKind.LEADER_EPOCH_CHECKPOINT.value)

    @property
    def log_start_offset(self) -> int:
        """The first offset that may be read: the checkpointed one, or the first segment's if that is higher."""
        first = self.segments[0].base_offset if self.segments else 0
        return max(self.checkpoints.log_start_offset or 0, first)

    @property
    def epochs_start_offset(self) -> int:
        """From where on leader epochs count. 0 where the log starts with its first segment, or below it.

        Those below may be of what is in remote storage. A log that stands alone, and says that it began with segments
        which are gone, has nothing there.
        """
        first = self.segments[0].base_offset if self.segments else 0
        recorded = self.checkpoints.log_start_offset or 0
        is_deleting = self.own_checkpoints is not None and self.checkpoints.log_start_offset is not None
        return max(recorded, first) if recorded > first or (is_deleting and recorded < first) else 0
