"""Find records by offset in the segments of a log, without a lock."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from logstore.errors import OffsetOutOfRangeError
from logstore.indexes.transaction_index import AbortedTransaction
from logstore.segment.live_segment import LiveSegment
from logstore.segment.read_view import ReadView
from logstore.segment.segment_list import SegmentList

LogPlace = tuple[int, int, int]
"""Where an offset is: all batches before a position of a segment end below it. Offset, segment's first, position.

A plain tuple, as one is made at each append (Kafka: LogOffsetMetadata).
"""


class LogReader:
    """What the writer has published, and how to read it.

    Appending puts a new `end` in place once the bytes are written. Whatever takes bytes away makes `changes` odd
    before and even after: who read meanwhile reads again.
    """

    __slots__ = ("_known_place", "changes", "directory", "end", "segments")

    def __init__(self, directory: Path, segments: SegmentList, log_end_offset: int) -> None:
        """Begin with what is on disk."""
        self.directory = directory
        self.segments = segments
        self.end: LogPlace = (log_end_offset, segments.active.base_offset, segments.active.size)
        self.changes = 0
        self._known_place = (-1, self.end)

    def place_of(self, offset: int) -> LogPlace:
        """Find the batch that holds `offset`; the log's end where none does (Kafka: convertToOffsetMetadata)."""
        end, changes = self.end, self.changes
        if offset >= end[0]:
            return end
        known_at, known = self._known_place
        if known_at == changes and known[0] == offset:
            return known
        place = self._locate(offset, end)
        self._known_place = (changes, place)
        return place

    def read(
        self, offset: int, max_bytes: int, limit: LogPlace, min_one_batch: bool, *, with_aborted: bool = False
    ) -> ReadView:
        """Return whole batches from the one that holds `offset` on, before `limit`."""
        if max_bytes < 0:
            raise ValueError(f"{max_bytes} bytes cannot be read")
        if offset >= limit[0]:
            return ReadView(offset)
        segments = self.segments
        number = segments.floor(offset)
        if number < 0:
            raise OffsetOutOfRangeError("no segment holds this offset", file=self.directory, offset=offset)
        _, limit_base, limit_position = limit
        for segment in segments.segments[number:] if number else segments.segments:
            base = segment.base_offset
            if base > limit_base:
                break
            size = limit_position if base == limit_base else segment.file.size
            view = segment.read(offset, max_bytes, size, min_one_batch=min_one_batch)
            if view is not None:
                if with_aborted:
                    view.aborted_transactions = self._aborted(offset, segment, view.position + len(view.data))
                return view
            segment.ensure_gap(offset, size)
        return ReadView(offset)

    def _locate(self, offset: int, end: LogPlace) -> LogPlace:
        _, end_base, end_position = end
        for segment in self.segments.from_offset(offset):
            size = end_position if segment.base_offset == end_base else segment.size
            place = segment.locate(offset, size)
            if place is not None:
                return offset, segment.base_offset, place[0]
        return offset, end_base, end_position

    def _aborted(self, offset: int, segment: LiveSegment, end_position: int) -> list[AbortedTransaction]:
        """Collect the aborted transactions with records from `offset` up to `end_position` of `segment`, or later."""
        later = self.segments.segments[self.segments.floor(segment.base_offset) + 1 :]
        end = segment.offset_index.offset_from_position(end_position)
        if end is None:
            end = later[0].base_offset if later else self.end[0]
        collected: list[AbortedTransaction] = []
        for each in (segment, *later):
            found, complete = each.transaction_index.overlapping(offset, end)
            collected += found
            if complete:
                break
        return collected


class ClosedReader(LogReader):
    """Takes a reader's place once its log is closed: tells where the log ended, and reads nothing."""

    __slots__ = ("_refuse",)

    def __init__(self, reader: LogReader, refuse: Callable[[], NoReturn]) -> None:
        """Call `refuse` whenever somebody wants to read."""
        super().__init__(reader.directory, reader.segments, reader.end[0])
        self._refuse = refuse

    def place_of(self, offset: int) -> NoReturn:
        """Refuse."""
        del offset
        self._refuse()

    def read(
        self, offset: int, max_bytes: int, limit: LogPlace, min_one_batch: bool, *, with_aborted: bool = False
    ) -> NoReturn:
        """Refuse."""
        del offset, max_bytes, limit, min_one_batch, with_aborted
        self._refuse()
