"""The names of files in a partition directory: kind, base offset, and fate."""

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from epoch.history import MAX_OFFSET

META_PROPERTIES_NAME: Final = "meta.properties"
"""What a directory of logs has, and no log."""
CURSOR_SUFFIX: Final = ".cursor"
SET_ASIDE_SUFFIX: Final = ".set-aside"
"""Of what recovery has taken out of a log."""
_OFFSET_DIGITS = 20
_NUMBERED = re.compile(
    r"(?P<offset>\d{20})(?:-(?P<epoch>\d{10}))?\.(?P<kind>log|index|timeindex|txnindex|snapshot|checkpoint|keys)"
    r"(?:\.(?P<fate>deleted|cleaned|swap|begun))?",
    re.ASCII,
)


class FileKind(StrEnum):
    """What a file in a partition directory holds."""

    LOG = "log"
    OFFSET_INDEX = "index"
    TIME_INDEX = "timeindex"
    TRANSACTION_INDEX = "txnindex"
    PRODUCER_SNAPSHOT = "snapshot"
    METADATA_SNAPSHOT = "checkpoint"
    """A snapshot of the cluster's metadata (KIP-630): record batches between a control header and footer."""
    LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
    PARTITION_METADATA = "partition.metadata"
    QUORUM_STATE = "quorum-state"
    CURSOR = "cursor"
    """A place in the log that has a name (`Log.cursor`): not Kafka's, which leaves it alone."""
    KEY_INDEX = "keys"
    """Where the records of keys are (`Log.get`), up to the offset in the name: not Kafka's either."""
    TEMPORARY = "tmp"
    """Written but not yet renamed into place: left by a crash, of no use to anybody."""
    UNKNOWN = "unknown"


INDEX_KINDS: Final = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX)
"""The indexes of one segment."""


class FileFate(StrEnum):
    """A segment file's last suffix, which marks it for deletion or replacement; start-up completes these."""

    LIVE = ""
    DELETED = "deleted"
    """Renamed for deletion: removed `file.delete.delay.ms` later, or at the next start."""
    CLEANED = "cleaned"
    """Half-written by the log cleaner: removed at the next start."""
    SWAP = "swap"
    """Completed by the log cleaner, not yet in place of the originals: put in place at the next start."""
    BEGUN = "begun"
    """Written to already, as the segment before it is still being synced: no file of Kafka's, which leaves it alone."""


class FileName(NamedTuple):
    """A parsed file name. Singular files have no base offset; metadata snapshots alone have an epoch."""

    kind: FileKind
    base_offset: int | None = None
    epoch: int | None = None
    fate: FileFate = FileFate.LIVE


_NAMED = {
    kind.value: FileName(kind)
    for kind in (FileKind.LEADER_EPOCH_CHECKPOINT, FileKind.PARTITION_METADATA, FileKind.QUORUM_STATE)
}


@lru_cache(4096)  # thousands of partitions have files of the same names
def parse_file_name(name: str) -> FileName:
    """Parse a file's name; the kind of other names is `FileKind.UNKNOWN`.

    >>> parse_file_name("00000000000000011600.timeindex.deleted")
    FileName(kind=<FileKind.TIME_INDEX: 'timeindex'>, base_offset=11600, epoch=None, fate=<FileFate.DELETED: 'deleted'>)
    """
    if name in _NAMED:
        return _NAMED[name]
    if name.endswith(".tmp"):
        return FileName(FileKind.TEMPORARY)
    if name.endswith(CURSOR_SUFFIX):
        return FileName(FileKind.CURSOR)
    match = _NUMBERED.fullmatch(name)
    if match is None or int(match["offset"]) > MAX_OFFSET:
        return FileName(FileKind.UNKNOWN)
    kind = FileKind(match["kind"])
    if (match["epoch"] is not None) != (kind is FileKind.METADATA_SNAPSHOT):
        return FileName(FileKind.UNKNOWN)
    return FileName(
        kind,
        int(match["offset"]),
        int(match["epoch"]) if match["epoch"] else None,
        FileFate(match["fate"] or ""),
    )


def file_name(kind: FileKind, base_offset: int, fate: FileFate = FileFate.LIVE) -> str:
    """Name the file of this kind with this base offset: 20 digits and the kind's suffix, then its fate's."""
    name = f"{base_offset:0{_OFFSET_DIGITS}d}.{kind}"
    return f"{name}.{fate}" if fate is not FileFate.LIVE else name
