"""What has records gives them as columns."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from logstore.arguments import offset_span

if TYPE_CHECKING:
    import pyarrow as pa

    from logstore.batch.columns import RecordColumns
    from logstore.offline.columns.column_reader import Chunk


class ColumnSource(ABC):
    """Gives the records from one offset up to another, without control records."""

    __slots__ = ()

    @abstractmethod
    def _chunks(self, start: int, end: int | None) -> "Iterator[Chunk]":
        """Yield the records from offset `start` up to, not including, `end`; up to the last where that is None."""

    def columns(self, start: int = 0, end: int | None = None) -> "Iterator[RecordColumns]":
        """Yield the records from offset `start` up to, not including, `end` as columns, some thousand at a time.

        Of each codec and magic, checksums verified, without control records. Raises what `batches`,
        `RecordBatch.ensure_valid` and `RecordBatch.records` raise, CorruptBatchError where offsets do not rise from one
        batch to the next, and CorruptRecordError where they do not within one: once the batches before were yielded.
        """
        return (chunk.records for chunk in self._chunks(*offset_span(start, end)))

    def arrow_batches(self, start: int = 0, end: int | None = None) -> "pa.RecordBatchReader":
        """Give what `columns` yields as Arrow's record batches, one after the other, so that memory stays flat.

        Columns `offset`, `timestamp` (milliseconds), `leader_epoch`, `key`, `value` and `headers`, which is null where
        there are none. Raises ModuleNotFoundError without pyarrow (the extra `arrow`); reading on raises what `columns`
        raises.
        """
        return arrow_reader(self._chunks(*offset_span(start, end)))

    def to_arrow(self, start: int = 0, end: int | None = None) -> "pa.Table":
        """Return what `arrow_batches` gives as one table."""
        return self.arrow_batches(start, end).read_all()


def arrow_reader(chunks: "Iterator[Chunk]") -> "pa.RecordBatchReader":
    """Give records as Arrow has them. Raises ModuleNotFoundError."""
    try:
        from logstore.offline.columns.arrow_records import as_reader  # noqa: PLC0415  it loads pyarrow
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        message = "Arrow's tables need pyarrow: install the extra `arrow`, in a checkout: pip install '.[arrow]'"
        raise ModuleNotFoundError(message, name=error.name) from None
    return as_reader(chunks)
