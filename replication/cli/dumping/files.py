"""Which files a dump prints, in which order, and who prints each."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.file_name import META_PROPERTIES_NAME, FileKind, FileName, parse_file_name
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.directory_lock import LOCK_NAME
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS
from logstore.offline.directory_listing import DirectoryListing, list_directory
from logstore.offline.offline_log_directory import (
    BOOTSTRAP_CHECKPOINT_NAME,
    ROOT_FILES,
    OfflineLogDirectory,
)
from logstore.topic_partition import is_partition_directory_name
from replication.base.errors import PartitionVanishedError
from replication.cli.dumping import small_files
from replication.cli.dumping.log_dump import dump_log
from replication.cli.dumping.offset_range import OffsetRange
from replication.cli.dumping.printer import Printer
from replication.cli.dumping.small_files import ZERO_TAIL, Entry
from replication.cli.output.printing import Advance, complain, told
from replication.copies.planning.named_roots import directories_in

Kind = FileKind | str
"""The kind that a file's name says, or the whole name of a file that there is one of in a root."""
EntryReader = Callable[[Path, FileName], Iterator[Entry]]

LOGS: Final[frozenset[Kind]] = frozenset({FileKind.LOG, FileKind.METADATA_SNAPSHOT, BOOTSTRAP_CHECKPOINT_NAME})
READERS: Final[dict[Kind, EntryReader]] = {
    FileKind.OFFSET_INDEX: small_files.offset_index_entries,
    FileKind.TIME_INDEX: small_files.time_index_entries,
    FileKind.TRANSACTION_INDEX: small_files.transaction_index_entries,
    FileKind.PRODUCER_SNAPSHOT: small_files.producer_snapshot_entries,
    FileKind.LEADER_EPOCH_CHECKPOINT: small_files.leader_epoch_entries,
    FileKind.PARTITION_METADATA: small_files.partition_metadata_entries,
    FileKind.QUORUM_STATE: small_files.quorum_state_entries,
    **dict.fromkeys(OFFSET_CHECKPOINTS, small_files.offset_checkpoint_entries),
    META_PROPERTIES_NAME: small_files.meta_properties_entries,
    CLEAN_SHUTDOWN_NAME: small_files.clean_shutdown_entries,
}
NOTES: Final[dict[Kind, str]] = {LOCK_NAME: "lock_file", FileKind.TEMPORARY: "temporary_file"}
"""What is said of files that are known and not read."""
LISTINGS: Final = 5
"""How often a directory is listed at most, whose files keep vanishing."""
COPIES: Final = {
    f".{kind.value}": kind
    for kind in (FileKind.LOG, FileKind.METADATA_SNAPSHOT, FileKind.TRANSACTION_INDEX, FileKind.PRODUCER_SNAPSHOT)
}
"""Files whose content does not depend on the offset in their name, by suffix: copies may be called anything."""


class UnknownFileError(LogStoreError, ValueError):
    """A file was named that Kafka does not write."""


class Dump:
    """Prints files and directories. What cannot be read is reported on standard error, and the rest is printed.

    A broker may be at work: files that it deletes after they were listed are left out, those that take their place are
    not, and a partition that it deletes is only mentioned.
    """

    def __init__(
        self, printer: Printer, offsets: OffsetRange, *, records: bool, progress: Advance | None = None
    ) -> None:
        """Limit what is printed to some offsets, and to batches unless the records are requested too.

        `progress` is called with the bytes of logs that were printed.
        """
        self._printer = printer
        self._offsets = offsets
        self._records = records
        self._progress = progress
        self.failed = False
        """Whether anything could not be read."""

    def dump(self, path: Path) -> None:
        """Print a file, or all files of a partition directory or log.dirs root. Raises OutputError."""
        try:
            self._dump(path)
        except (EpochError, LogStoreError, OSError) as error:
            self._fail(error)

    def _dump(self, path: Path) -> None:
        if path.is_dir():
            for opened in directories_in(path):
                if isinstance(opened, OfflineLogDirectory):
                    self._root(path if opened.path == path.absolute() else opened.path)
                else:
                    self._partition(path, root=path)
            return
        path.stat()
        kind = _kind_of(path.name)
        if kind == FileKind.UNKNOWN:
            kind = COPIES.get(path.suffix, kind)
        if kind == FileKind.UNKNOWN or not path.is_file():
            raise UnknownFileError(
                "not a file that Kafka writes in its log directories",
                file=path,
                advice="name a file such as 00000000000000000000.log, or a directory",
            )
        self._file(path, kind)

    def _root(self, path: Path) -> None:
        for name in self._members(path, root=path).directories:
            if is_partition_directory_name(name):
                self._partition_in_root(path / name, root=path)
            else:
                self._unknown_directory(path / name)

    def _partition_in_root(self, path: Path, root: Path) -> None:
        try:
            self._partition(path, root)
        except (LogStoreError, OSError) as error:
            if path.exists():
                self._fail(error)
            else:
                complain(str(PartitionVanishedError(path)))

    def _partition(self, path: Path, root: Path) -> None:
        for name in self._members(path, root).directories:
            self._unknown_directory(path / name)

    def _members(self, path: Path, root: Path) -> DirectoryListing:
        """Print what is in a directory, and list it again where some of it vanishes meanwhile; return the listing."""
        printed: set[str] = set()
        for _ in range(LISTINGS):
            listing = list_directory(path, root=root)
            names = sorted({*listing.files, *listing.escaping_links, *listing.other} - printed)
            printed.update(names)
            if all([self._member(path / name, listing) for name in names]):  # noqa: C419  each is to be printed
                break
        return listing

    def _member(self, path: Path, listing: DirectoryListing) -> bool:
        """Print a file or whatever it is. False where it is gone."""
        if path.name in listing.escaping_links:
            self._escaping_link(path)
            return True
        try:
            self._file(path, _kind_of(path.name) if path.name in listing.files else FileKind.UNKNOWN)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._fail(error)
        return True

    def _unknown_directory(self, path: Path) -> None:
        self._printer.begin(str(path))
        self._printer.note("unknown_directory", {})

    def _escaping_link(self, path: Path) -> None:
        self._printer.begin(str(path))
        self._printer.damage(LogStoreError("a symbolic link that leaves the root: it was not followed", file=path))

    def _fail(self, error: Exception) -> None:
        self.failed = True
        self._printer.failure(error)
        complain(told(error))

    def _file(self, path: Path, kind: Kind) -> None:
        path.lstat()  # no heading for what is gone
        self._printer.begin(str(path))
        try:
            if kind in LOGS:
                dump_log(path, self._printer, self._offsets, records=self._records, progress=self._progress)
            elif kind in READERS:
                self._entries(READERS[kind](path, parse_file_name(path.name)))
            else:
                self._printer.note(NOTES.get(kind, "unknown_file"), {"size": path.lstat().st_size})
        except (LogStoreError, EpochError) as error:
            self._printer.damage(error)

    def _entries(self, entries: Iterator[Entry]) -> None:
        for entry in entries:
            if entry.kind == ZERO_TAIL:
                self._printer.note(entry.kind, entry.fields)
            elif entry.offsets is None or self._offsets.meets(*entry.offsets):
                self._printer.entry(entry.kind, entry.fields)


def _kind_of(name: str) -> Kind:
    return name if name in ROOT_FILES else parse_file_name(name).kind


def bytes_of_logs(path: Path) -> int:
    """Return how many bytes of log a dump of a path reads; 0 where that cannot be said."""
    from logstore.verify import bytes_to_read

    try:
        if path.is_dir():
            return sum(map(bytes_to_read, directories_in(path)))
        return path.stat().st_size
    except (EpochError, LogStoreError, OSError):
        return 0
