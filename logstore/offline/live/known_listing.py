"""What is in the directory of a log that another process writes, listed again only where that may have changed."""

import time
from dataclasses import dataclass
from typing import Final, NamedTuple

from logstore.files.root_checkpoints import RootCheckpoints
from logstore.offline.directory_listing import FileState
from logstore.offline.partition_directory import PartitionDirectory, checkpoints_now

SETTLED_NS: Final = 2_000_000_000
"""Files' times go by ticks, of milliseconds or, on some file systems, of up to two seconds: a second change within the
tick of the last one does not show."""
TRUSTED_SECONDS: Final = 10.0
"""Where the times of a directory are not to be trusted, as on another machine's disk, changes are seen by then."""


class _Moment(NamedTuple):
    """What changes with the names in a directory, and with what is said of it in its root."""

    directory: FileState
    root: RootCheckpoints


@dataclass(frozen=True, slots=True)
class _Known:
    partition: PartitionDirectory
    moment: _Moment | None
    """None where what changed at about the same time would not show."""
    until: float


class KnownListing:
    """The newest listing. Threads may share it."""

    __slots__ = ("_known",)

    def __init__(self, partition: PartitionDirectory) -> None:
        """Begin with a listing."""
        self._known: _Known = _Known(partition, None, 0.0)

    @property
    def latest(self) -> PartitionDirectory:
        """The last listing, which may have become old."""
        return self._known.partition

    def doubt(self) -> None:
        """List again next time, whatever the times say: a file of the latest listing is not there."""
        self._known = _Known(self.latest, None, 0.0)

    def now(self) -> PartitionDirectory:
        """Return what is there now. Raises NotALogDirectoryError and OSError where the directory is gone."""
        known = self._known
        began_ns = time.time_ns()
        moment = _moment(known.partition)
        if moment == known.moment and time.monotonic() < known.until:
            return known.partition
        partition = known.partition.listed_again()
        is_settled = began_ns - moment.directory.changed_ns >= SETTLED_NS
        self._known = _Known(partition, moment if is_settled else None, time.monotonic() + TRUSTED_SECONDS)
        return partition


def _moment(partition: PartitionDirectory) -> _Moment:
    return _Moment(FileState.of(partition.path.stat()), checkpoints_now(partition.path.parent))
