"""One record of a log, by its offset."""

from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from epoch.compiling.awaited_kernel import AwaitedKernel
from logstore.arguments import whole_number
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import TIMESTAMP_TYPE_BIT
from logstore.batch.decoding.record_decoder import read_fields, wrapping
from logstore.batch.record import Record
from logstore.errors import DecompressionError, DecompressionLimitError, LogStoreError, OffsetOutOfRangeError
from logstore.segment.read_view import ReadView

_NOT_FOUND: Final = -1
_build: Final = tuple.__new__  # half the cost of Record(...)


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
    if isinstance(batch, RecordBatch):
        with suppress(DecompressionError, DecompressionLimitError):
            return record_in(batch, offset, batch.section())
    return batch.record_at(offset)


def record_in(batch: RecordBatch, offset: int, section: memoryview) -> Record | None:
    """Do as `batch.record_at` does, with its `section` at hand: a kernel passes over the other records."""
    find = FIND_RECORD_AT.code or FIND_RECORD_AT.ready()
    if find is None:
        return batch.record_at(offset)
    start, end, timestamp_delta, key_at, key_size, value_at, value_size, header_count = find(
        section, batch.record_count, offset - batch.base_offset
    )
    if header_count == _NOT_FOUND:
        return batch.record_at(offset)
    is_append_time = batch.attributes & TIMESTAMP_TYPE_BIT
    timestamp = batch.max_timestamp if is_append_time else wrapping(batch.base_timestamp + timestamp_delta)
    key = None if key_size < 0 else bytes(section[key_at : key_at + key_size])
    value = None if value_size < 0 else bytes(section[value_at : value_at + value_size])
    headers = read_fields(bytes(section[start:end]), 0).headers if header_count else ()
    record: Record = _build(Record, (offset, timestamp, key, value, headers))
    return record


def _load_find_record_at() -> Any:
    from epoch.compiling.kernel import machine_code  # noqa: PLC0415  numba loads on the first bulk operation
    from logstore.kernels.single_record import find_record_at  # noqa: PLC0415  numba again

    return machine_code(find_record_at, memoryview(b""), 0, 0)


FIND_RECORD_AT: Final = AwaitedKernel(_load_find_record_at)
"""The kernel that passes over records: asked for once some were looked up."""
