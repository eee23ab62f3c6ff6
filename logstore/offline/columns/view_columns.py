"""Reads the records of a log in use as columns, view by view."""

from collections.abc import Callable, Iterator
from typing import Final

from logstore.errors import LogStoreError
from logstore.indexes.aborted_producers import AbortedProducers
from logstore.offline.columns.column_reader import Chunk, ColumnReader
from logstore.segment.read_view import ReadView

READ_BYTES: Final = 16 << 20
"""Looked at in one read, unless a batch is larger."""


def read_columns(read: Callable[[int, int], ReadView], start: int, end: int | None) -> Iterator[Chunk]:
    """Read from offset `start` up to, not including, `end`, or what `read` lets be read."""
    reader = ColumnReader(start, end)
    offset = start
    while not reader.is_at_end and (view := read(offset, READ_BYTES)):
        aborted = AbortedProducers(view.aborted_transactions)
        try:
            yield from reader.chunks(view.data, aborted, begin=view.ensure_begin, around=view.surroundings)
        except LogStoreError as error:
            raise view.located(error) from None
        offset = reader.last_offset + 1
