"""The records of a batch for who reads on behind it: their offsets rise, and stay within those of the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from logstore.batch.batch_order import NO_OFFSET, has_too_many
from logstore.errors import CorruptRecordError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logstore.batch.any_batch import Batch
    from logstore.batch.record import Record

ANY_OFFSET: Final = -(2**63)
"""Below all."""
_ADVICE: Final = (
    "Kafka's consumer passes over records whose offsets do not rise; take the batch from another replica, or read its "
    "records as they are by `RecordBatch.records`"
)


def ordered_records(batch: Batch, lowest: int = ANY_OFFSET) -> Iterator[Record]:
    """Yield the records from offset `lowest` on; one that has more than its header has offsets for may reach beyond.

    Raises what `RecordBatch.records` raises, and CorruptRecordError for an offset that is not above the one before it,
    or not among those of the batch: once the records before were yielded.
    """
    before, last = batch.base_offset - 1, NO_OFFSET if has_too_many(batch) else batch.last_offset
    for record in batch.records():
        offset = record.offset
        if not before < offset <= last:
            raise _out_of_order(batch, offset, before)
        before = offset
        if offset >= lowest:
            yield record


def _out_of_order(batch: Batch, offset: int, before: int) -> CorruptRecordError:
    fault = f"a record has offset {offset:,}, in the batch of offsets {batch.base_offset:,} to {batch.last_offset:,}"
    if batch.base_offset <= offset <= before:
        fault = f"a record has offset {offset:,}, and the one before it {before:,}"
    return CorruptRecordError(fault, file=batch.file, position=batch.position, offset=offset, advice=_ADVICE)
