"""Single records of a log by their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from logstore.batch.batch_attributes import CODEC_BITS
from logstore.errors import LogStoreError
from logstore.segment.single_record import ReadByOffset, record_at, record_in

if TYPE_CHECKING:
    from logstore.batch.batch import RecordBatch
    from logstore.batch.record import Record
    from logstore.log.state.log_contents import LogContents

_LARGEST_KEPT: Final = 1 << 20
"""Bytes of records that are kept decompressed."""


class RecordLookup:
    """Finds a record at a glance where a kernel sees that its batch is sound and in its place; else as `read` does.

    Any number of threads may call.
    """

    __slots__ = ("_contents", "_decompressed", "_log")

    def __init__(self, log: ReadByOffset, contents: LogContents) -> None:
        """Look into what the log holds at each moment."""
        self._log = log
        self._contents = contents
        self._decompressed: tuple[object, memoryview | None] = (None, None)
        """Which batch was decompressed last, and its records. Where one is tells it from others until a file is cut."""

    def get(self, offset: int) -> Record | None:
        """Return the record at `offset`; None where that has none. Raises what `Log.get` raises."""
        try:
            found = self._sound_batch(offset) if type(offset) is int else None
            if found is not None:
                batch, place = found
                if batch.is_control or not batch.base_offset <= offset <= batch.last_offset:
                    return None
                return record_in(batch, offset, self._section(batch, place))
        except (LogStoreError, OSError, ValueError, IndexError):
            pass  # a closer look says what is wrong, or waits for the truncation that has come in between
        return record_at(self._log, offset)

    def _sound_batch(self, offset: int) -> tuple[RecordBatch, object] | None:
        """Return the batch that `read` finds, and what tells its bytes from all others; None where that is not sure."""
        contents = self._contents
        changes, (end_offset, last_base, size) = contents.changes, contents.end
        if changes & 1 or not contents.log_start_offset <= offset < end_offset or contents.gaps.holes:
            return None
        segments, epochs = contents.segments, contents.epochs
        following = segments.floor(offset) + 1
        if not following:
            return None
        segment = segments.segments[following - 1]
        cuts = segment.file.cuts
        if segment.base_offset != last_base:
            size, end_offset = segment.file.size, segments.base_offsets[following]
        batch = segment.reader.sound_batch(offset, size, end_offset, epochs)
        if batch is None or changes != contents.changes or not contents.is_readable:
            return None
        return batch, (segment, cuts, batch.position)

    def _section(self, batch: RecordBatch, place: object) -> memoryview:
        """Return the records' bytes, decompressed; those of the latest batch are at hand."""
        if not batch.attributes & CODEC_BITS:
            return batch.section()
        known, section = self._decompressed
        if section is None or known != place:
            section = batch.section()
            if len(section) <= _LARGEST_KEPT:
                self._decompressed = place, section
        return section
