"""Up to where a log is known to have reached, by all that was written down of it beside its batches."""

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from epoch import EpochHistory
from logstore.errors import LogStoreError
from logstore.file_name import INDEX_KINDS, FileFate, FileKind, file_name, parse_file_name
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, RECOVERY_POINT_CHECKPOINT
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog, checkpointed_history


class KnownEnd(NamedTuple):
    """An offset that a log's end was not below."""

    offset: int
    told_by: str
    """The file that says so."""


def known_end(partition: PartitionDirectory, history: EpochHistory | None) -> KnownEnd:
    """Return the highest such offset; `history` is what the leader-epoch checkpoint has, where it can be read."""
    known, latest = partition.checkpoints, history.latest if history else None
    return max(
        KnownEnd(known.high_watermark or 0, HIGH_WATERMARK_CHECKPOINT),
        KnownEnd(known.recovery_point or 0, RECOVERY_POINT_CHECKPOINT),
        KnownEnd(latest.start_offset if latest else 0, FileKind.LEADER_EPOCH_CHECKPOINT.value),
        *_ends_by_name(partition),
        key=attrgetter("offset"),
    )


def live_bases(partition: PartitionDirectory) -> dict[FileKind, frozenset[int]]:
    """Return the base offsets in the names of a log's files, by kind; whatever they are, if only by name."""
    listing = partition.listing
    names: dict[FileKind, set[int]] = {}
    for name in {**listing.files, **listing.directories, **listing.escaping_links, **listing.other}:
        parsed = parse_file_name(name)
        if parsed.fate is FileFate.LIVE and parsed.base_offset is not None:
            names.setdefault(parsed.kind, set()).add(parsed.base_offset)
    return {kind: frozenset(offsets) for kind, offsets in names.items()}


def _ends_by_name(partition: PartitionDirectory) -> Iterator[KnownEnd]:
    bases = live_bases(partition)
    for kind in (FileKind.LOG, *INDEX_KINDS, FileKind.PRODUCER_SNAPSHOT):
        for base in bases.get(kind, ()):
            yield KnownEnd(base, file_name(kind, base))


def lost_end(log: RecoveredLog) -> LogStoreError | None:
    """Return what is missing at a log's end; None where nothing is known to be. Raises EpochError and OSError."""
    end = known_end(log.partition, checkpointed_history(log.partition))
    if end.offset <= log.log_end_offset:
        return None
    return LogStoreError(
        f"the log ends at {log.log_end_offset:,}, and its {end.told_by} says that it reached {end.offset:,}",
        file=log.partition.path,
        advice="what is between is not read: epochlog repair may bring it back",
    )


def lost_start(log: RecoveredLog) -> LogStoreError | None:
    """Return what is missing at a log's start: a segment that has left an index, unless its records were deleted."""
    if not log.segments:
        return None
    first = log.segments[0].base_offset
    bases = live_bases(log.partition)
    left = [(base, file_name(kind, base)) for kind in INDEX_KINDS for base in bases.get(kind, ()) if base < first]
    if not left or (log.partition.checkpoints.log_start_offset or 0) >= first:
        return None
    base, name = min(left)
    return LogStoreError(
        f"the log starts at {first:,}, and its {name} says that it had offsets from {base:,} on",
        file=log.partition.path,
        offset=base,
        advice="what is between is not read: epochlog repair may bring it back",
    )
