"""A place in a log that another process writes, and the batches before it as they were seen."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from logstore.batch.batch_order import BatchOrder
from logstore.batch.layout import HEADER_SIZE
from logstore.batch.record import Record
from logstore.errors import LogTruncatedError, OffsetOutOfRangeError
from logstore.offline.live.segment_piece import Piece, SeenBatch
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

    @property
    def log_start_offset(self) -> int:
        """Where it begins; see `ReadOnlyLog.log_start_offset`."""

    def find(self, offset: int, max_bytes: int) -> tuple[int | None, Piece]:
        """Find batches; see `ReadOnlyLog.find`."""

    def before(self, offset: int, offsets: int) -> Iterator[SeenBatch]:
        """Find the batches before an offset; see `ReadOnlyLog.before`."""

    def view(self, offset: int, segment_base_offset: int | None, piece: Piece) -> ReadView:
        """Give what was found for `offset`; see `ReadOnlyLog.view`."""

    def has(self, segment_base_offset: int, position: int, header: bytes, end_offset: int) -> bool:
        """Whether a batch is there; see `ReadOnlyLog.has`."""


class Following:
    """Reads on from a place, and notices that what it has read was replaced: by the batches themselves."""

    def __init__(self, log: Source, offset: int) -> None:
        """Begin at `offset`."""
        self._log = log
        self._seen: deque[SeenBatch] = deque(maxlen=REMEMBERED)
        self._order = BatchOrder()
        self._began_at = 0
        """Where the log began, once that is all that is known of it."""
        self.offset: int = offset
        """The offset to read next."""

    @property
    def is_closed(self) -> bool:
        """Whether the log is read no more."""
        return self._log.is_closed

    def records(self, end: int | None = None) -> Iterator[Record]:
        """Yield the records that there are, those below `end`. Raises what `ReadOnlyLog.records` raises."""
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
        # Who waits at the log's end has read nothing by which a cut below the place could be noticed.
        before = () if self._seen else tuple(self._log.before(self.offset, REMEMBERED))
        began_at = 0 if self._seen or before else self._log.log_start_offset
        try:
            segment, piece = self._log.find(self.offset, PIECE_BYTES)
        except OffsetOutOfRangeError:
            self._ensure_there()
            raise
        # Afterwards: what a truncation below the place has left does not look as it did.
        self._ensure_there()
        if segment is not None:
            self._remember(segment, piece)
        else:
            self._seen.extend(before)
            self._began_at = began_at
        return self._log.view(self.offset, segment, piece)

    def _remember(self, segment: int, piece: Piece) -> None:
        for batch in piece.batches[-REMEMBERED:]:
            at = batch.position
            header = piece.data[at : at + HEADER_SIZE]
            self._seen.append(SeenBatch(segment, piece.position + at, header, batch.base_offset, batch.last_offset + 1))

    def _ensure_there(self) -> None:
        """Raise LogTruncatedError unless the last batch is as it was, and an empty log begins no sooner."""
        if self._began_at and not self._seen and (begins := self._log.log_start_offset) < self._began_at:
            raise self._truncated_to(begins)
        gone: SeenBatch | None = None
        for batch in reversed(self._seen):
            if batch.base_offset >= self.offset:
                continue
            if self._log.has(batch.segment_base_offset, batch.position, batch.header, batch.end_offset):
                break
            gone = batch
        if gone is not None:
            raise self._truncated_to(gone.base_offset)

    def _truncated_to(self, offset: int) -> LogTruncatedError:
        return LogTruncatedError(
            f"the log was truncated below {self.offset:,}, up to where it was read: the histories diverge",
            file=self._log.directory,
            offset=offset,
            advice=f"take back what the records from {offset:,} on have led to, and read on from there",
        )
