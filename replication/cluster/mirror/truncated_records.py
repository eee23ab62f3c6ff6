"""Records that a truncation removes, kept in files of their own."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from epoch.filesystem import REAL, FileSystem
from logstore import Log, now_ms
from logstore.errors import complete
from replication.cluster.fetcher.fetch_observer import Cut
from replication.cluster.fetcher.removed_records import RemovedRecords, batches_from
from replication.cluster.mirror.errors import ForeignDirectoryError

_TEMPORARY: Final = ".tmp"
_ADVICE: Final = "nothing is truncated until its records are kept: free some space and restart"


class TruncatedRecords:
    """Writes truncated records to DIR/orders-0/00000000000000000300-epoch7-20261121T163614.123Z.log.

    The name has the first offset, the epoch of the leader whose log lacks these records, and the time of the
    truncation. Such a file is an ordinary segment: it has the batches unchanged, and `epochlog dump` reads it. No
    file is ever overwritten.
    """

    def __init__(self, directory: Path, filesystem: FileSystem = REAL) -> None:
        """Keep them below `directory`, which is created when needed."""
        self.directory = directory.absolute()
        self._filesystem = filesystem

    def keep(self, log: Log, cut: Cut, removed: RemovedRecords) -> Path | None:
        """Write what `cut` is about to remove, durably, and return the file; None if it removes nothing.

        Raises OSError if that fails: then the log must not be truncated.
        """
        if not removed.bytes:
            return None
        directory = self.directory / str(cut.partition)
        self._filesystem.make_directories(directory)
        path = _unused(directory, removed.first_offset, cut.leader_epoch)
        temporary = path.with_name(path.name + _TEMPORARY)
        try:
            self._write(temporary, log, cut.first_offset)
            self._filesystem.rename(temporary, path)
            self._filesystem.fsync_directory(directory)
        except BaseException as error:
            with suppress(OSError):
                self._filesystem.unlink(temporary)
            if isinstance(error, OSError):
                complete(error, temporary, _ADVICE)
            raise
        return path

    def _write(self, path: Path, log: Log, offset: int) -> None:
        descriptor = self._filesystem.open(path, truncate=True)
        try:
            for view in batches_from(log, offset):
                self._filesystem.write(descriptor, view.data)
            self._filesystem.fsync(descriptor)
        finally:
            self._filesystem.close(descriptor)


def ensure_apart(directory: Path, root: Path) -> None:
    """Check that records can be kept here. Raises ForeignDirectoryError if not, or if it is within `root`."""
    if directory.exists() and not directory.is_dir():
        raise ForeignDirectoryError(directory, "it is not a directory, so truncated records cannot be kept in it")
    if directory.resolve().is_relative_to(root.resolve()):
        raise ForeignDirectoryError(
            directory, f"it is within the copy {root}, where a broker takes any directory for a partition"
        )


def _unused(directory: Path, first_offset: int, leader_epoch: int) -> Path:
    """Find a name that no earlier truncation has used: each partition is truncated by one thread only."""
    time_ms = now_ms()
    while True:
        moment = datetime.fromtimestamp(time_ms // 1_000, UTC)
        written = f"{moment:%Y%m%dT%H%M%S}.{time_ms % 1_000:03d}Z"
        path = directory / f"{first_offset:020d}-epoch{leader_epoch}-{written}.log"
        if not path.exists():
            return path
        time_ms += 1
