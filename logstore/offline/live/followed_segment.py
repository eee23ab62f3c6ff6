"""Whether a log that is read beside its writer begins where it should, and a segment follows the one before it."""

from logstore.batch.batch_order import ADVICE
from logstore.errors import CorruptBatchError, CorruptMetadataError
from logstore.file_name import FileFate, FileKind, file_name
from logstore.files.only_copy.offset_gaps import OffsetGaps
from logstore.files.only_copy.promised_offsets import UNKNOWN_START, PromisedOffsets, start_in_doubt
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import checkpointed_history


def ensure_follows(partition: PartitionDirectory, offset: int, end: int, base_offset: int) -> None:
    """Raise HoleError for a hole from `offset` on before a segment, CorruptBatchError where another one is missing.

    The batches of the segment before end at `end`. Only an only copy that stands alone has noted all gaps that
    are none. Raises OSError.
    """
    try:
        gaps = OffsetGaps.read(partition.path)
    except CorruptMetadataError:
        return  # who opens the log to write is warned of it
    hole = gaps.next_hole(offset)
    if hole is not None and hole.start_offset < base_offset:
        raise hole.error(partition.path)
    if partition.own_checkpoints is None or end >= base_offset or gaps.covers(end, base_offset):
        return
    is_compacted = not gaps.is_kept and base_offset <= (partition.checkpoints.cleaner_offset or 0)
    if is_compacted or PromisedOffsets(partition.path).read() is None:
        return
    raise CorruptBatchError(
        f"the batches before end at offset {end - 1:,}, and this segment begins at {base_offset:,}: one is missing, "
        "or the end of one",
        file=partition.path / file_name(FileKind.LOG, base_offset),
        offset=end,
        advice=ADVICE,
    )


def start_of(partition: PartitionDirectory) -> int:
    """Return where a log starts by its segments and checkpoints, or where an only copy has noted that it does.

    A broker that had it since may have deleted segments; it has written where the epochs begin then, or is at it.
    Raises DamagedLogError where a checkpoint file alone says that records were deleted, epoch.EpochError, OSError.
    """
    found, promise = partition.log_start_offset, PromisedOffsets(partition.path).read()
    if promise is None or not partition.segments:
        return found
    promise = promise.beside(partition.checkpoints)
    if promise.noted_start != UNKNOWN_START:
        doubted = promise.doubted_start(partition.segments[0].base_offset, checkpointed_history(partition))
        if doubted is not None:
            raise start_in_doubt(partition.path, doubted, promise.log_start_offset)
    noted = promise.log_start_offset
    if noted == UNKNOWN_START:
        return found
    if partition.own_checkpoints is None and noted < found:
        earliest = checkpointed_history(partition).earliest
        noted = max(noted, 0 if earliest is None else earliest.start_offset)
        return found if noted > found or any(partition.named(FileKind.LOG, FileFate.DELETED)) else noted
    return noted


def ensure_begins(partition: PartitionDirectory, start: int, offset: int) -> None:
    """Raise CorruptBatchError where the log starts at `start`, and the segment that held `offset` is not there."""
    first = partition.segments[0].base_offset if partition.segments else start
    if start <= offset < first:
        raise CorruptBatchError(
            f"the first segment is missing, up to where the next one begins, {first:,}",
            file=partition.path / file_name(FileKind.LOG, start),
            offset=start,
            advice=ADVICE,
        )
