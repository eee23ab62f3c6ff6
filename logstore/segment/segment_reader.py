"""Finds batches in a segment that is in use, by offset."""

from functools import partial
from typing import Final

from logstore.batch.batches import read_batches
from logstore.batch.layout import LOG_OVERHEAD, header_of
from logstore.errors import LogStoreError
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


Part = tuple[memoryview, int, int]
"""Bytes of the file, where they begin in it, and from where on to look; -1 where the index was not asked for that yet.

All positions are those in the file.
"""


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
        return self._locate(self._part(offset, size), offset, size)

    def read(self, offset: int, max_bytes: int, size: int, *, min_one_batch: bool) -> ReadView | None:
        """Return whole batches from the one that holds `offset` on, within the first `size` bytes; None without any.

        Raises as `locate` does.
        """
        part = self._part(offset, size)
        found = self._find(part, offset, max_bytes, size)
        if found is None:
            return None
        start, first_size, end = found
        if first_size > max_bytes and not min_one_batch:
            return ReadView(offset, _NO_BYTES, self._base_offset, start, max_bytes > 0)
        data, begin, _ = part
        # With the bytes: once the view is looked at, the file may have been deleted.
        ensure_gap = partial(self._ensure_gap_in, part)
        return ReadView(offset, data[start - begin : end - begin], self._base_offset, start, False, ensure_gap)

    def ensure_gap(self, offset: int, end: int) -> None:
        """See that no batch before the position `end` holds `offset`: damaged headers lead over batches, too.

        Raises CorruptBatchError, and what `read_batches` raises.
        """
        self._ensure_gap_in(self._part(offset, end), offset, end)

    def _part(self, offset: int, size: int) -> Part:
        """Return the bytes in which `offset` is to be looked for, up to `size` or beyond. Raises OSError."""
        data = self._file.mapped(size)
        if data is not None:
            return data, 0, -1
        start = min(size, self._indexes.offset.lookup(offset))
        data, begin = self._file.between(start, size)
        return data, begin, start

    def _locate(self, part: Part, offset: int, size: int) -> tuple[int, int, int] | None:
        data, begin, start = part
        position = start if start >= 0 else self._indexes.offset.lookup(offset)
        while size - position >= _HEADER_BYTES:
            base_offset, length, magic, delta = _unpack(data, position - begin)
            if magic < 2:
                break
            if base_offset + delta >= offset:
                return position, length + LOG_OVERHEAD, base_offset
            position += length + LOG_OVERHEAD
        return self._locate_legacy(part, offset, position, size) if position < size else None

    def _locate_legacy(self, part: Part, offset: int, position: int, size: int) -> tuple[int, int, int] | None:
        data, begin, _ = part
        try:
            for batch in read_batches(data[: size - begin], position - begin, str(self._file.path)):
                if batch.last_offset >= offset:
                    return begin + batch.position, batch.size, batch.base_offset
        except LogStoreError as error:
            raise _moved(error, begin) from error
        return None

    def _ensure_gap_in(self, part: Part, offset: int, end: int) -> None:
        data, begin, start = part
        position = start if start >= 0 else self._indexes.offset.lookup(offset)
        try:
            for batch in read_batches(data[: end - begin], position - begin, str(self._file.path)):
                batch.ensure_valid()
        except LogStoreError as error:
            raise _moved(error, begin) from error

    def _find(self, part: Part, offset: int, max_bytes: int, size: int) -> tuple[int, int, int] | None:
        """Find the first batch to be read, its position and size, and where the last one ends."""
        if self._reads < MANY_READS:
            self._reads += 1
        elif max_bytes < size and not part[1]:
            # Half the time.
            found = self._indexes.offset.find_batches(part[0], offset, max_bytes, size)
            if found is not None and found[0] >= 0:
                return found
        place = self._locate(part, offset, size)
        if place is None:
            return None
        start, first_size, _ = place
        if first_size >= max_bytes:
            end = start + first_size
        elif max_bytes >= size - start:
            end = size
        else:
            end = self._last_end(part, start, first_size, start + max_bytes)
        return start, first_size, end

    def _last_end(self, part: Part, start: int, first_size: int, limit: int) -> int:
        """Return where the last batch ends that ends at or before `limit`; the first one does."""
        data, begin, _ = part
        position = start + first_size
        if limit - position > _WALKED_BATCHES * first_size:
            position = max(position, self._indexes.offset.floor_position(limit))
        while limit - position >= _HEADER_BYTES:
            end: int = position + _unpack(data, position - begin)[1] + LOG_OVERHEAD
            if end > limit:
                break
            position = end
        return position


def _moved(error: LogStoreError, begin: int) -> LogStoreError:
    """Return an error of a part of a file with its position in the file."""
    position = None if error.position is None else begin + error.position
    return error.with_position(file=error.file, position=position, offset=error.offset)
