"""Finds batches in a segment that is in use, by offset."""

from typing import Final

from logstore.batch.batches import read_batches
from logstore.batch.layout import LOG_OVERHEAD, header_of
from logstore.segment.read_view import ReadView
from logstore.segment.segment_file import SegmentFile
from logstore.segment.segment_indexes import SegmentIndexes

# All that a walk from batch to batch looks at.
_HEADER: Final = header_of("base_offset", "length", "magic", "last_offset_delta")
_HEADER_BYTES: Final = _HEADER.size
_unpack: Final = _HEADER.unpack_from

_WALKED_BATCHES: Final = 4
"""To find the end of more batches than these the index is asked first."""
MANY_READS: Final = 1_000
"""After so many of a segment the compiled search is worth its loading."""
_NO_BYTES: Final = memoryview(b"")


class SegmentReader:
    """Any thread reads, up to the size that it has looked up before."""

    __slots__ = ("_base_offset", "_file", "_indexes", "_reads")

    def __init__(self, base_offset: int, file: SegmentFile, indexes: SegmentIndexes) -> None:
        """Read what is in the file by then."""
        self._base_offset = base_offset
        self._file = file
        self._indexes = indexes
        self._reads = 0

    def locate(self, offset: int, size: int) -> tuple[int, int, int] | None:
        """Find the first batch within the first `size` bytes that ends at or beyond `offset`.

        Return its position, size and base offset (Kafka: translateOffset). Raises OSError, and ValueError where a
        truncation takes the bytes away meanwhile.
        """
        data = self._file.data()
        position = self._indexes.offset.lookup(offset)
        while size - position >= _HEADER_BYTES:
            base_offset, length, magic, delta = _unpack(data, position)
            if magic < 2:
                break
            if base_offset + delta >= offset:
                return position, length + LOG_OVERHEAD, base_offset
            position += length + LOG_OVERHEAD
        return self._locate_legacy(offset, position, size) if position < size else None

    def _locate_legacy(self, offset: int, position: int, size: int) -> tuple[int, int, int] | None:
        for batch in read_batches(self._file.data()[:size], position, str(self._file.path)):
            if batch.last_offset >= offset:
                return batch.position, batch.size, batch.base_offset
        return None

    def read(self, offset: int, max_bytes: int, size: int, *, min_one_batch: bool) -> ReadView | None:
        """Return whole batches from the one that holds `offset` on, within the first `size` bytes; None without any.

        Raises as `locate` does.
        """
        if self._reads < MANY_READS:
            self._reads += 1
            found = self._find(offset, max_bytes, size)
        else:
            found = self._find_compiled(offset, max_bytes, size)
        if found is None:
            return None
        start, first_size, end = found
        if first_size > max_bytes and not min_one_batch:
            return ReadView(offset, _NO_BYTES, self._base_offset, start, max_bytes > 0)
        return ReadView(offset, self._file.data()[start:end], self._base_offset, start, False, self.ensure_gap)

    def ensure_gap(self, offset: int, end: int) -> None:
        """See that no batch before the position `end` holds `offset`: damaged headers lead over batches, too.

        Raises CorruptBatchError, and what `read_batches` raises.
        """
        for batch in read_batches(self._file.data()[:end], self._indexes.offset.lookup(offset), str(self._file.path)):
            batch.ensure_valid()

    def _find_compiled(self, offset: int, max_bytes: int, size: int) -> tuple[int, int, int] | None:
        """Do as `_find` does, in half the time."""
        if max_bytes < size:
            found = self._indexes.offset.find_batches(self._file.data(), offset, max_bytes, size)
            if found is not None and found[0] >= 0:
                return found
        return self._find(offset, max_bytes, size)

    def _find(self, offset: int, max_bytes: int, size: int) -> tuple[int, int, int] | None:
        """Find the first batch to be read, its position and size, and where the last one ends."""
        place = self.locate(offset, size)
        if place is None:
            return None
        start, first_size, _ = place
        if first_size >= max_bytes:
            end = start + first_size
        elif max_bytes >= size - start:
            end = size
        else:
            end = self._last_end(start, first_size, start + max_bytes)
        return start, first_size, end

    def _last_end(self, start: int, first_size: int, limit: int) -> int:
        """Return where the last batch ends that ends at or before `limit`; the first one does."""
        data = self._file.data()
        position = start + first_size
        if limit - position > _WALKED_BATCHES * first_size:
            position = max(position, self._indexes.offset.floor_position(limit))
        while limit - position >= _HEADER_BYTES:
            end: int = position + _unpack(data, position)[1] + LOG_OVERHEAD
            if end > limit:
                break
            position = end
        return position
