"""A place in a log that another process writes, and the batches before it as they were seen."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from logstore.batch.batch_order import BatchOrder
from logstore.batch.layout import HEADER_SIZE
from logstore.batch.record import Record
from logstore.errors import LogTruncatedError, OffsetOutOfRangeError
from logstore.offline.live.segment_piece import Piece
from logstore.segment.read_view import ReadView

PIECE_BYTES: Final = 1 << 20
REMEMBERED: Final = 256
"""Batches: where a truncation below all of them has cut is not known, only that it is below."""


class Source(Protocol):
    """What a log has in its files."""

    directory: Path

    @property
    def is_closed(self) -> bool:
        """Whether it is read no more."""

    def find(self, offset: int, max_bytes: int) -> tuple[int | None, Piece]:
        """Find batches; see `ReadOnlyLog.find`."""

    def view(self, offset: int, segment_base_offset: int | None, piece: Piece) -> ReadView:
        """Give what was found for `offset`; see `ReadOnlyLog.view`."""

    def has(self, segment_base_offset: int, position: int, header: bytes, base_offset: int) -> bool:
        """Tell whether a batch is there; see `ReadOnlyLog.has`."""


class SeenBatch(NamedTuple):
    """A batch by where it was, and by its header, which has its checksum."""

    segment_base_offset: int
    position: int
    header: bytes
    base_offset: int
    end_offset: int


class Following:
    """Reads on from a place, and notices that what it has read was replaced: by the batches themselves."""

    def __init__(self, log: Source, offset: int) -> None:
        """Begin at `offset`."""
        self._log = log
        self._seen: deque[SeenBatch] = deque(maxlen=REMEMBERED)
        self._order = BatchOrder()
        self.offset: int = offset
        """The offset to read next."""

    @property
    def is_closed(self) -> bool:
        """Whether the log is read no more."""
        return self._log.is_closed

    def records(self, end: int | None = None) -> Iterator[Record]:
        """Yield the records that there are, those below `end`. Raises as `ReadOnlyLog.records` does."""
        while end is None or self.offset < end:
            view = self._read()
            if not view.data:
                return
            if self._order.last_offset + 1 != view.offset:
                self._order = BatchOrder()
            for record in view.records(self._order):
                if end is not None and record.offset >= end:
                    return
                self.offset = record.offset + 1
                yield record
            self.offset = self._order.last_offset + 1

    def _read(self) -> ReadView:
        try:
            segment, piece = self._log.find(self.offset, PIECE_BYTES)
        except OffsetOutOfRangeError:
            self._ensure_there()
            raise
        # Afterwards: what a truncation below the place has left does not look as it did.
        self._ensure_there()
        if segment is not None:
            self._remember(segment, piece)
        return self._log.view(self.offset, segment, piece)

    def _remember(self, segment: int, piece: Piece) -> None:
        for batch in piece.batches[-REMEMBERED:]:
            at = batch.position
            header = piece.data[at : at + HEADER_SIZE]
            self._seen.append(SeenBatch(segment, piece.position + at, header, batch.base_offset, batch.last_offset + 1))

    def _ensure_there(self) -> None:
        """Raise LogTruncatedError unless the last batch that was read is as it was."""
        gone: SeenBatch | None = None
        for batch in reversed(self._seen):
            if batch.base_offset >= self.offset:
                continue
            if self._log.has(batch.segment_base_offset, batch.position, batch.header, batch.base_offset):
                break
            gone = batch
        if gone is not None:
            raise LogTruncatedError(
                f"the log was truncated below {self.offset:,}, up to where it was read: the histories diverge",
                file=self._log.directory,
                offset=gone.base_offset,
                advice=f"take back what the records from {gone.base_offset:,} on have led to, and read on from there",
            )
