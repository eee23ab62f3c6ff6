"""Pieces of a segment's file that another process may append to, cut, replace or delete meanwhile."""

import os
import struct
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple, Self

from logstore.batch.any_batch import Batch
from logstore.batch.batch_order import ADVICE, PLACE_SIZE
from logstore.batch.batches import read_batch, read_batches
from logstore.batch.layout import HEADER_SIZE, LOG_OVERHEAD, MAGIC, MAGIC_AT, header_of
from logstore.errors import CorruptBatchError, TornBatchError
from logstore.file_name import FileKind
from logstore.offline.live.index_entry import last_entry
from logstore.offline.segment import Segment

_HEADER: Final = header_of("base_offset", "length", "magic", "last_offset_delta")
_TIMES: Final = header_of("base_offset", "length", "magic", "last_offset_delta", "max_timestamp")
_SLOT: Final = struct.Struct(">ii")
_WALKED_BYTES: Final = 64 << 10
"""Read at once to go from batch to batch."""
_LOOKS: Final = 3
_SECONDS_BETWEEN: Final = 0.001
"""A writer may be in the middle of a step."""
_NO_OFFSET: Final = 1 << 63
"""Beyond all."""


class Piece(NamedTuple):
    """Whole batches with valid checksums, all of which were in the file at one moment."""

    position: int
    data: bytes
    batches: tuple[Batch, ...]
    following: bytes = b""
    """How the batch begins that follows, as far as it was there."""


class SeenBatch(NamedTuple):
    """A batch by where it was, and by its header, which has its checksum."""

    segment_base_offset: int
    position: int
    header: bytes
    base_offset: int
    end_offset: int


class SegmentPieces:
    """One segment's file, open; the name may lead to another one by now."""

    def __init__(self, path: Path, base_offset: int, index: Path | None) -> None:
        """Open it. Raises OSError."""
        self._path = path
        self._base_offset = base_offset
        self._index = index
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    @classmethod
    def of(cls, segment: Segment) -> Self:
        """Open a segment that was listed. Raises OSError."""
        return cls(segment.log_path, segment.base_offset, segment.files.get(FileKind.OFFSET_INDEX))

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._descriptor)

    def find(self, offset: int) -> tuple[int, int]:
        """Find the first batch that ends at or beyond `offset`: its position, and where the one before it ended.

        Without one that is the end of the batches, and of the last one's offsets. Raises OSError.
        """
        position, reached = self._hinted(offset) or (0, self._base_offset)
        while True:
            data = os.pread(self._descriptor, _WALKED_BYTES, position)
            at = 0
            while (header := _header(_HEADER, data, at)) is not None:
                base_offset, length, magic, delta = header
                last_offset = base_offset + delta if magic == MAGIC else base_offset
                if length <= 0 or base_offset < reached or last_offset < reached - 1:
                    return position + at, reached
                if last_offset >= offset:
                    return position + at, reached
                reached, at = last_offset + 1, at + length + LOG_OVERHEAD
            if not at:
                return position, reached
            position += at

    def reaching(self, position: int, reached: int, timestamp: int) -> Iterator[int]:
        """Yield the base offsets of batches that may hold records from `timestamp` on, by their headers alone.

        From a place that `find` has found. Where no batch begins although there are bytes left, that is the offset that
        should follow: whoever reads it is told why. Raises OSError.
        """
        while data := os.pread(self._descriptor, _WALKED_BYTES, position):
            at = 0
            while (header := _header(_TIMES, data, at)) is not None:
                base_offset, length, magic, delta, largest = header
                if length <= 0 or base_offset < reached:
                    yield reached
                    return
                if magic != MAGIC or largest >= timestamp:
                    yield base_offset
                reached = base_offset + (delta if magic == MAGIC else 0) + 1
                at += length + LOG_OVERHEAD
            if not at:
                break
            position += at
        if position != self.size():
            yield reached

    def largest_timestamp(self, position: int) -> int | None:
        """Return the largest timestamp of the batch at `position`; None for one of an older magic. Raises OSError."""
        header = os.pread(self._descriptor, HEADER_SIZE, position)
        if len(header) < HEADER_SIZE:
            return None
        _, _, magic, _, largest = _TIMES.unpack_from(header)
        return largest if magic == MAGIC else None

    def before(self, offset: int, offsets: int) -> Iterator[SeenBatch]:
        """Give the batches of the last so many offsets before `offset`, by their headers alone. Raises OSError."""
        position, _ = self.find(max(offset - offsets, 0))
        while (fields := _header(_HEADER, header := os.pread(self._descriptor, HEADER_SIZE, position), 0)) is not None:
            base_offset, length, magic, delta = fields
            if length <= 0 or base_offset >= offset:
                return
            end_offset = (base_offset + delta if magic == MAGIC else base_offset) + 1
            yield SeenBatch(self._base_offset, position, header, base_offset, end_offset)
            position += length + LOG_OVERHEAD

    def read(self, position: int, max_bytes: int) -> Piece:
        """Read batches up to `max_bytes`, the first one however large it is. Raises OSError.

        The bytes are read twice: what a cut and the appends after it have left of the first reading is different in the
        second one, as they come in the order of the file.
        """
        data = os.pread(self._descriptor, max(max_bytes, HEADER_SIZE), position)
        if len(data) >= HEADER_SIZE:
            size = _HEADER.unpack_from(data)[1] + LOG_OVERHEAD
            left = os.fstat(self._descriptor).st_size - position
            if len(data) < size <= left:
                data = os.pread(self._descriptor, size, position)
        batches = tuple(_valid(data))
        size = sum(batch.size for batch in batches)
        again = os.pread(self._descriptor, size + PLACE_SIZE, position)
        if data[:size] != again[:size]:
            return Piece(position, b"", ())
        return Piece(position, data[:size], batches, again[size:])

    def read_to_end(self, position: int, max_bytes: int, *, is_last: bool) -> Piece:
        """Read batches; none at the end of the file, and in the last one of a log where it ends inside a batch.

        Raises CorruptBatchError, TornBatchError and OSError for other bytes, once they have not changed for a while.
        """
        for looks in count(1):
            piece = self.read(position, max_bytes)
            if piece.batches:
                break
            try:
                if self._is_end(position):
                    break
            except TornBatchError:
                if is_last:
                    break
                if looks == _LOOKS:
                    raise
            except CorruptBatchError:
                if looks == _LOOKS:
                    raise
            if looks > 2 * _LOOKS:
                break  # it changes too fast to be read
            time.sleep(_SECONDS_BETWEEN)
        return piece

    def _is_end(self, position: int) -> bool:
        """Return whether only preallocated zeros follow, and no whole batch; raise what is wrong with one."""
        start = os.pread(self._descriptor, HEADER_SIZE, position)
        if not any(start):
            return True
        size = _HEADER.unpack_from(start)[1] + LOG_OVERHEAD if len(start) == HEADER_SIZE else 0
        left = os.fstat(self._descriptor).st_size - position
        data = os.pread(self._descriptor, size, position) if 0 < size <= left else start
        try:
            read_batch(memoryview(data), 0).ensure_valid()
        except (TornBatchError, CorruptBatchError) as error:
            offset = self._base_offset if error.offset is None else error.offset
            raise error.with_position(file=self._path, position=position, offset=offset) from None
        return False

    def ensure_found(self, offset: int, piece: Piece, reached: int) -> None:
        """See that nothing before a piece holds the offset for which `find` has found it, with `reached`.

        Raises CorruptBatchError, and OSError.
        """
        first = piece.batches[0].base_offset
        if first < reached:
            raise CorruptBatchError(
                f"the batch begins below {reached:,}, where the one before it ends",
                file=self._path,
                position=piece.position,
                offset=first,
                advice=ADVICE,
            )
        if first <= offset:
            return
        # Damaged headers lead over batches, too.
        position = (self._hinted(offset) or (0, 0))[0]
        while position < piece.position:
            walked = self.read(position, _WALKED_BYTES)
            if not walked.batches:
                self._is_end(position)
                raise CorruptBatchError(
                    "no batch begins where one should", file=self._path, position=position, offset=offset, advice=ADVICE
                )
            position += len(walked.data)

    def size(self) -> int:
        """Return how long the file is now. Raises OSError."""
        return os.fstat(self._descriptor).st_size

    def end_offset(self) -> int:
        """Return the offset after the last batch, unless that is not whole. Raises OSError."""
        _, reached = self.find(_NO_OFFSET)
        while reached > self._base_offset:
            position, before = self.find(reached - 1)
            if self.read(position, 0).batches:
                return reached
            reached = before
        return reached

    def holds(self, position: int, header: bytes) -> bool:
        """Whether the bytes of a batch's header are there. Raises OSError."""
        return os.pread(self._descriptor, len(header), position) == header

    def _hinted(self, offset: int) -> tuple[int, int] | None:
        """Look the offset up in the index, and believe it where a batch of this last offset is in that place."""
        if self._index is None:
            return None
        below = offset - self._base_offset
        try:
            found = last_entry(self._index, _SLOT, lambda relative, position: position <= 0 or relative >= below)
        except OSError:
            return None
        if found is None:
            return None
        relative, position = found
        batches = self.read(position, 0).batches
        if not batches or batches[0].last_offset != self._base_offset + relative:
            return None
        return position, batches[0].base_offset


def _header(fields: struct.Struct, data: bytes, at: int) -> tuple[int, ...] | None:
    """Read a batch's header, also of a whole message of an older magic, which may be smaller than those of magic 2."""
    if len(data) - at >= HEADER_SIZE:
        return fields.unpack_from(data, at)
    left = data[at:]
    if len(left) <= MAGIC_AT or left[MAGIC_AT] >= MAGIC:
        return None
    header = fields.unpack(left.ljust(HEADER_SIZE, b"\0")[: fields.size])
    return header if header[1] + LOG_OVERHEAD <= len(left) else None


def _valid(data: bytes) -> Iterator[Batch]:
    """Yield the batches up to the first that is not whole, or does not follow the one before it."""
    end = -1
    try:
        for batch in read_batches(memoryview(data)):
            batch.ensure_valid()
            if batch.base_offset <= end:
                return
            end = batch.last_offset
            yield batch
    except (TornBatchError, CorruptBatchError):
        return
