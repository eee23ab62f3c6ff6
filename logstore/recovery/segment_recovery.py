"""Recover one segment: find what is valid, cut off the rest, build the indexes anew (Kafka: LogSegment.recover)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from epoch.base.resource_limits import OUT_OF_SPACE
from epoch.filesystem import REAL, FileSystem
from logstore.batch.columns import StopReason
from logstore.errors import LogStoreError, SegmentTooLargeError
from logstore.file_name import FileFate, FileKind, file_name
from logstore.files.mapped_files import cut_file
from logstore.indexes.transaction_index import TransactionIndex
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.recovery.damage.epoch_order import EpochOrder
from logstore.recovery.segment_split import Part, plan_split
from logstore.recovery.segment_walk import MISPLACED, Lacks, OnBytes, OnProducerBatch, SegmentRecovery, SegmentWalk

MAX_SEGMENT_BYTES: Final = 2**31 - 1
"""Index entries hold positions in 32 bits."""


def recover_segment(
    directory: Path,
    base_offset: int,
    config: LogConfig,
    *,
    on_producer_batch: OnProducerBatch,
    on_damage: Callable[[SegmentRecovery], tuple[Part, ...]] = lambda _: (),
    promised: int | None = None,
    is_ordered: bool = False,
    may_skip: Callable[[int, int], bool] | None = None,
    skips: Callable[[], bool] = lambda: False,
    lacks: Lacks = lambda _: False,
    epochs: EpochOrder | None = None,
    put: Callable[[Callable[[], None]], object] = lambda put: put(),
    progress: OnBytes = lambda _: None,
    filesystem: FileSystem = REAL,
) -> SegmentRecovery:
    """Check a segment's batches up to the end or the first that is not whole, cut the file there, and write indexes.

    `on_damage` is called with what was found before anything is cut: what must go with the damage goes first, as long
    as the damage is there to tell so after another crash. It answers with the parts that are to take the segment's
    place, if any. A segment that must be split is left as it is. With `is_ordered` the offsets of its batches have to
    rise, and to fit what was `promised`: up to where all was on stable storage, if that is known. Offsets that are too
    far apart are damage where `may_skip` is given and denies that there may be none from one up to another. `skips`
    says whether batches may lack offsets between them: then either of two may be wrong, where they contradict each
    other, and so may the last one, where the segment `lacks` offsets behind it. With `epochs` leader epochs have to fit
    them, and one another. `put` is given what puts the indexes into place.
    Raises OSError, SegmentTooLargeError, and what `on_damage` raises.
    """
    path = directory / file_name(FileKind.LOG, base_offset)
    with LogFile.open(path) as log:
        if log.size > MAX_SEGMENT_BYTES:
            raise SegmentTooLargeError(
                f"{log.size:,} bytes are more than the {MAX_SEGMENT_BYTES:,} that indexes can point into",
                file=path,
                advice="Kafka refuses it too; take the partition from another replica",
            )
        walk = SegmentWalk(log, base_offset, config, on_producer_batch, is_ordered=is_ordered)
        fitting = log.size if epochs is None else epochs.end_of_fitting(log)
        reason = walk.to(fitting, progress)
        found = walk.found(reason)
        if reason == StopReason.OUT_OF_RANGE and (may_skip is None or _may_follow(log, found, may_skip)):
            parts = plan_split(log, base_offset)
            if parts:
                return replace(found, parts=parts)
        misplaced = walk.misplaced(promised, reason, skips, lacks) if is_ordered else None
        if misplaced is not None:
            walk = walk.without(misplaced.position)
            found = replace(walk.found(reason), reason=MISPLACED, in_doubt=misplaced.last)
        elif epochs is not None and found.valid_bytes == fitting < log.size:
            found = replace(found, reason=epochs.reason)
        walk.replay_all()
    if found.dropped_bytes:
        parts = on_damage(found)
        if parts:
            return replace(found, parts=parts)
        cut_file(filesystem, path, found.valid_bytes)
    put(partial(_replace_indexes, directory, walk, filesystem))
    return found


def _may_follow(log: LogFile, found: SegmentRecovery, may_skip: Callable[[int, int], bool]) -> bool:
    """Whether the batch behind what is valid may begin as far away as it does."""
    try:
        batch = next(log.batches(found.valid_bytes), None)
    except LogStoreError:  # nobody can tell
        return False
    return batch is not None and may_skip(found.next_offset, batch.base_offset)


def check_part(log: LogFile, base_offset: int, start: int, end: int) -> int:
    """Check what recovery would, from where a batch begins to `end`; return how many bytes are valid. For estimates."""
    walk = SegmentWalk(log, base_offset, LogConfig(), lambda _: [], start)
    walk.go_to(min(end, log.size))
    return walk.position - start


def _replace_indexes(directory: Path, walk: SegmentWalk, filesystem: FileSystem) -> None:
    """Put new index files in place, down to the disk: below the recovery point nobody looks again.

    The offset index is last. Where it was what was missing, another crash before that leaves it missing.
    """
    made = {FileKind.TIME_INDEX: walk.time_index(), FileKind.OFFSET_INDEX: walk.indexes.offset_index()}
    if walk.aborted or (directory / file_name(FileKind.TRANSACTION_INDEX, walk.base_offset)).exists():
        made = {FileKind.TRANSACTION_INDEX: TransactionIndex(tuple(walk.aborted), 0).encode(), **made}
    try:
        _put(made, directory, walk.base_offset, filesystem)
    except OSError as error:
        if error.errno not in OUT_OF_SPACE:
            raise
        # Without the offset index the others are not looked at, whatever a crash leaves of them.
        for path in (directory / file_name(kind, walk.base_offset) for kind in reversed(made)):
            if path.exists():
                filesystem.unlink(path)
        _put(made, directory, walk.base_offset, filesystem)


def _put(made: Mapping[FileKind, bytes], directory: Path, base_offset: int, filesystem: FileSystem) -> None:
    for kind, data in made.items():
        # A start removes left-over files with that suffix; Kafka's does too.
        temporary = directory / file_name(kind, base_offset, FileFate.CLEANED)
        filesystem.replace(directory / file_name(kind, base_offset), data, temporary)
    filesystem.fsync_directory(directory)
