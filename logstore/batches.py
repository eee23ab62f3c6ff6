"""Batches of any magic, one after the other."""

from collections.abc import Iterator
from typing import Final

from logstore.batch import REPLACE_ADVICE, RecordBatch, refuse_length, refuse_torn
from logstore.errors import InvalidBatchHeaderError
from logstore.message_set import LOG_OVERHEAD, SMALLEST_MESSAGE, LegacyBatch

Batch = RecordBatch | LegacyBatch

MAGIC_POSITION: Final = 16
_MAGIC_END: Final = MAGIC_POSITION + 1


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
        refuse_torn(left, LOG_OVERHEAD + SMALLEST_MESSAGE, position, file)
    magic = data[position + MAGIC_POSITION]
    if magic == 2:
        return RecordBatch(data, position, file)
    if magic > 2:
        raise InvalidBatchHeaderError(
            f"no batch has magic {magic}", file=file, position=position, advice=REPLACE_ADVICE
        )
    length = int.from_bytes(data[position + 8 : position + LOG_OVERHEAD], "big", signed=True)
    if length < SMALLEST_MESSAGE:
        refuse_length(length, position, file)
    return LegacyBatch(data, position, file)
