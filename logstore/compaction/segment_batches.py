"""The batches of closed segments, as compaction reads them."""

from collections.abc import Callable, Iterator

from logstore.batch.batch import RecordBatch
from logstore.errors import UnsupportedFormatError
from logstore.segment.live_segment import LiveSegment


def do_nothing() -> None:
    """Do nothing, so that each batch is read."""


def batches_of(
    segment: LiveSegment, position: int = 0, before_each: Callable[[], object] = do_nothing
) -> Iterator[RecordBatch]:
    """Walk over a segment's batches from `position` on; `before_each` may raise to end that.

    Raises CorruptBatchError where a checksum fails: what is damaged decides nothing, and written anew it would look
    sound. Raises UnsupportedFormatError for magic 0 and 1, as `read_batches` does, and OSError.
    """
    for batch in segment.batches(position):
        before_each()
        if not isinstance(batch, RecordBatch):
            raise UnsupportedFormatError(
                f"a batch of magic {batch.magic} cannot be compacted",
                file=segment.path,
                position=batch.position,
                offset=batch.last_offset,
                advice="delete the log's old segments by retention first, or let a broker compact it",
            )
        batch.ensure_valid()
        yield batch
