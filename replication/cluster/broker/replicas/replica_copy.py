"""Copies a log to another directory while it goes on, as a follower of it (Kafka: ReplicaAlterLogDirsThread)."""

from typing import Final

from epoch import EpochHistory
from logstore import Log
from replication.cluster.broker.errors import UnfinishedCopyError
from replication.cluster.fetcher.fetched_batches import split_batches

_CHUNK_BYTES: Final = 1 << 20
"""Of one step (Kafka: replica.fetch.max.bytes)."""


def agreed_end(source: EpochHistory, source_end: int, copy: EpochHistory, copy_end: int) -> int:
    """Return up to where a copy holds what its source holds: below it lie the same epochs, and so the same records.

    Without a common epoch that is where the shorter one ends if either knows none, as with old batches; else nowhere.
    """
    starts = {entry.epoch for entry in source.entries}
    common = next((entry.epoch for entry in reversed(copy.entries) if entry.epoch in starts), None)
    if common is not None:
        ends = source.end_offset_for(common, source_end).end_offset, copy.end_offset_for(common, copy_end).end_offset
        return min(*ends, source_end, copy_end)
    return min(source_end, copy_end) if not starts or not copy.entries else 0


def copy_step(source: Log, copy: Log) -> bool:
    """Bring a copy nearer to its source, by one read at most; return whether it ends where the source does now.

    What the source has truncated since is truncated first. Raises LogStoreError and OSError, also where the source is
    truncated, shortened or closed meanwhile: another step may succeed then.
    """
    end = agreed_end(source.epochs.history, source.log_end_offset, copy.epochs.history, copy.log_end_offset)
    if end < copy.log_end_offset:
        copy.truncate_to(end)
    start = source.log_start_offset
    if copy.log_end_offset < start:
        _begin(source, copy, start)
    _take(source, copy)
    copy.update_high_watermark(min(source.high_watermark, copy.log_end_offset))
    if copy.log_start_offset < start <= copy.high_watermark:
        copy.delete_records(start)
    return copy.log_end_offset >= source.log_end_offset


def finish_copy(source: Log, copy: Log) -> None:
    """Copy the rest, with nobody appending to the source any more; the copy is on stable storage when this returns.

    Raises UnfinishedCopyError where the source ends with offsets that hold nothing, as compaction may leave them: with
    the next record the copy goes on. Else as `copy_step`.
    """
    end = -1
    while not copy_step(source, copy):
        if copy.log_end_offset == end:
            raise UnfinishedCopyError(copy.directory, end, source.log_end_offset)
        end = copy.log_end_offset
    # Of leaders that have written nothing, the source's alone count.
    copy.truncate_to(copy.log_end_offset)
    known = copy.epochs.latest_epoch
    for entry in source.epochs.history.entries:
        if known is None or entry.epoch > known:
            copy.assign_epoch(entry.epoch, entry.start_offset)
    copy.flush()


def _begin(source: Log, copy: Log, start: int) -> None:
    """Begin an empty copy with the batch that holds the source's first record."""
    first = next(iter(source.read(start, 1).batches()), None)
    copy.truncate_fully_and_start_at(start if first is None else min(start, first.base_offset))


def _take(source: Log, copy: Log) -> None:
    # The source may start within the batch that comes next.
    data = source.read(max(copy.log_end_offset, source.log_start_offset), _CHUNK_BYTES).data
    if data:
        for part in split_batches(data, copy.config.segment_bytes):
            copy.append_batches(part)
