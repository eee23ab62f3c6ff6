"""Batches of any magic, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from logstore.batch.batch import RecordBatch, refuse_torn
from logstore.batch.layout import MAGIC, MAGIC_AT, SMALLEST_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logstore.batch.any_batch import Batch

_MAGIC_END: Final = MAGIC_AT + 1


def read_batches(data: memoryview, position: int = 0, file: str | None = None) -> Iterator[Batch]:
    """Read batches from `position` to the end of `data`, or until no valid batch follows.

    Raises TornBatchError if the data ends inside a batch, and InvalidBatchHeaderError if no batch begins where one
    should. Checksums are not verified.
    """
    end = len(data)
    while position < end:
        batch = read_batch(data, position, file)
        yield batch
        position += batch.size


def read_batch(data: memoryview, position: int = 0, file: str | None = None) -> Batch:
    """Read the header of the batch at `position`.

    Raises TornBatchError if the data ends inside the batch, and InvalidBatchHeaderError if no batch begins there.
    """
    left = len(data) - position
    if left < _MAGIC_END:
        refuse_torn(left, SMALLEST_MESSAGE, position, file)
    if data[position + MAGIC_AT] == MAGIC:
        return RecordBatch(data, position, file)
    from logstore.batch.legacy_batch import LegacyBatch  # noqa: PLC0415  start-up time: who has any has old files

    return LegacyBatch(data, position, file)
