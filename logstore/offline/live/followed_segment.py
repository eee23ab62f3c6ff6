"""Whether a segment follows the one before it, of a log that is read beside its writer."""

from logstore.batch.batch_order import ADVICE
from logstore.errors import CorruptBatchError, CorruptMetadataError
from logstore.file_name import FileKind, file_name
from logstore.files.only_copy.offset_gaps import OffsetGaps
from logstore.files.only_copy.promised_offsets import PromisedOffsets
from logstore.offline.partition_directory import PartitionDirectory


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
        f"the segment of {end:,} is missing, up to where the next one begins, {base_offset:,}",
        file=partition.path / file_name(FileKind.LOG, end),
        offset=end,
        advice=ADVICE,
    )
