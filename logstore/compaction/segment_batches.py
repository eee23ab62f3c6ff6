"""The batches and aborted transactions of closed segments, as compaction reads them."""

from collections.abc import Iterator, Sequence

from logstore.batch.batch import RecordBatch
from logstore.errors import UnsupportedFormatError
from logstore.indexes.transaction_index import AbortedTransaction
from logstore.segment.live_segment import LiveSegment


def batches_of(segment: LiveSegment, position: int = 0) -> Iterator[RecordBatch]:
    """Walk over a segment's batches from `position` on.

    Raises CorruptBatchError where a checksum fails: what is damaged decides nothing, and written anew it would look
    sound. Raises UnsupportedFormatError for magic 0 and 1, as `read_batches` does, and OSError.
    """
    for batch in segment.batches(position):
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


def aborted_within(segments: Sequence[LiveSegment], start: int, end: int) -> list[AbortedTransaction]:
    """Return the aborted transactions with records in [start, end). Segments below `start` must be left out.

    Kafka: collectAbortedTransactions. Raises OSError, CorruptIndexError.
    """
    collected: list[AbortedTransaction] = []
    for segment in segments:
        found, is_complete = segment.transaction_index.overlapping(start, end)
        collected += found
        if is_complete:
            break
    return collected
