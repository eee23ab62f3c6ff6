"""Reads a log piece by piece from a place on, so that nothing is skipped or handed out twice unnoticed."""

from collections.abc import Iterator
from typing import Final

from logstore.batch.batch_order import BatchOrder
from logstore.batch.record import Record
from logstore.errors import CorruptBatchError, HoleError, OffsetOutOfRangeError
from logstore.log.reading.isolation import Isolation
from logstore.log.reading.log_reader import LogReader
from logstore.log.reading.place import Place
from logstore.segment.read_view import ReadView

PIECE_BYTES: Final = 1 << 20
"""So much is read at a time; no more of a log is held in memory."""


class ViewSource:
    """Gives what follows a place."""

    def __init__(self, reader: LogReader, place: Place, isolation: Isolation, *, skip_holes: bool = False) -> None:
        """Read from `place` on, up to what `isolation` allows; past what is known to be lost with `skip_holes`."""
        self._reader = reader
        self.place = place
        self._isolation = isolation
        self._skip_holes = skip_holes
        self._order = BatchOrder()

    def order(self, view: ReadView) -> BatchOrder:
        """Return that of the batches that were read before `view`, where that goes on behind them."""
        if self._order.last_offset + 1 != view.offset:
            self._order = BatchOrder()
        return self._order

    def read(self) -> ReadView:
        """Return whole batches from the place on; none where none may be read now.

        Raises LogTruncatedError, OffsetOutOfRangeError where records were deleted, and what `Log.read` raises.
        """
        place = self.place
        while True:
            place.ensure_valid()
            try:
                view = self._reader.read(place.offset, PIECE_BYTES, self._isolation, min_one_batch=True)
            except OffsetOutOfRangeError:
                if not place.is_cut:
                    raise
            except HoleError as hole:
                if not self._skip_holes:
                    raise
                if not place.is_cut:
                    place.offset = hole.next_offset
            except CorruptBatchError as error:
                raise self._reader.explained(error) from None
            else:
                if not place.is_cut:
                    return view

    def records(self, view: ReadView) -> Iterator[Record]:
        """Yield the records of what `read` has returned; the place moves with them, and past the last batch.

        Ends early where the place is moved meanwhile, by hand or by another reader. Raises what `ReadView.records`
        raises.
        """
        place = self.place
        moves, order = place.moves, self.order(view)
        for record in view.records(order, self._reader.explained):
            place.offset = following = record.offset + 1
            yield record
            if place.offset != following or place.moves != moves:
                return
        place.offset = order.last_offset + 1  # records may reach beyond it, but the log's end may not
