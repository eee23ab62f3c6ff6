"""One record of a log, by its offset."""

from pathlib import Path
from typing import Protocol

from logstore.arguments import whole_number
from logstore.batch.record import Record
from logstore.errors import LogStoreError, OffsetOutOfRangeError
from logstore.segment.read_view import ReadView


class ReadByOffset(Protocol):
    """What is needed of a log."""

    directory: Path

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""

    def read(self, offset: int, max_bytes: int) -> ReadView:
        """Return the batch that holds `offset`, or the next one; nothing where none follows."""


def record_at(log: ReadByOffset, offset: int) -> Record | None:
    """Return the record at `offset`; None where that has none. Raises what `Log.get` raises."""
    offset = whole_number(offset, "offset")
    view = log.read(offset, 0)
    if not view and offset >= (end := log.log_end_offset):
        raise OffsetOutOfRangeError(
            f"the log ends at offset {end:,}, and has no record at {offset:,} yet",
            file=log.directory,
            offset=offset,
            advice=f"wait for it with `log.wait({offset})`",
        )
    # Where there was nothing at first, something has been appended since, or offsets without records end the log.
    view = view or log.read(offset, 0)
    try:
        return _record_in(view, offset)
    except LogStoreError as error:
        raise view.located(error) from None


def _record_in(view: ReadView, offset: int) -> Record | None:
    batch = next(view.batches(), None)
    if batch is None or batch.is_control or not batch.base_offset <= offset <= batch.last_offset:
        return None
    batch.ensure_valid()
    return batch.record_at(offset)
