"""Batches of any magic, one after the other."""

from collections.abc import Iterator
from typing import Final

from logstore.batch.batch import RecordBatch, refuse_torn
from logstore.batch.layout import MAGIC_AT
from logstore.batch.legacy_batch import SMALLEST_MESSAGE, LegacyBatch

Batch = RecordBatch | LegacyBatch

MAGIC_POSITION: Final = MAGIC_AT
_MAGIC_END: Final = MAGIC_AT + 1


def read_batches(data: memoryview, position: int = 0, file: str | None = None) -> Iterator[Batch]:
    """Read the batches that begin at `position`, up to the end of `data` or the first thing that is no batch.

    Raises as `read_batch` does. Checksums are not looked at.
    """
    end = len(data)
    while position < end:
        batch = read_batch(data, position, file)
        yield batch
        position += batch.size


def read_batch(data: memoryview, position: int = 0, file: str | None = None) -> Batch:
    """Read the header of the batch at `position`.

    Raises TornBatchError where the data ends inside the batch, and InvalidBatchHeaderError where none begins.
    """
    left = len(data) - position
    if left < _MAGIC_END:
        refuse_torn(left, SMALLEST_MESSAGE, position, file)
    if data[position + MAGIC_AT] == 2:
        return RecordBatch(data, position, file)
    return LegacyBatch(data, position, file)
