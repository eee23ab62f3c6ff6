"""The segments of a log at one moment, for readers that take no lock."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from logstore.base_offsets import number_of_holder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from logstore.indexes.transaction_index import AbortedTransaction
    from logstore.segment.live_segment import LiveSegment


class SegmentList:
    """Segments by base offset; never empty, never changed: a log puts another list in its place."""

    __slots__ = ("active", "base_offsets", "segments")

    def __init__(self, segments: Iterable[LiveSegment]) -> None:
        """Create a list of segments in the order of their base offsets."""
        self.segments: tuple[LiveSegment, ...] = tuple(segments)
        self.base_offsets: list[int] = [segment.base_offset for segment in self.segments]
        self.active: LiveSegment = self.segments[-1]
        """The one that is written."""

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def first(self) -> LiveSegment:
        """The oldest."""
        return self.segments[0]

    @property
    def size(self) -> int:
        """Bytes of all `.log` files."""
        return sum(segment.size for segment in self.segments)

    def floor(self, offset: int) -> int:
        """Return the number of the segment that `offset` is in; -1 below all."""
        return bisect_right(self.base_offsets, offset) - 1

    def from_offset(self, offset: int) -> tuple[LiveSegment, ...]:
        """Return the segments that may hold `offset` or later ones."""
        return self.segments[number_of_holder(self.base_offsets, offset) :]

    def with_appended(self, segment: LiveSegment) -> SegmentList:
        """Return the list with one more at its end."""
        return SegmentList((*self.segments, segment))


def aborted_within(segments: Sequence[LiveSegment], start: int, end: int) -> list[AbortedTransaction]:
    """Return the aborted transactions with records in [start, end). Segments below `start` must be left out.

    Kafka: collectAbortedTransactions. Raises OSError, CorruptIndexError.
    """
    collected: list[AbortedTransaction] = []
    for segment in segments:
        found, is_complete = segment.transaction_index.overlapping(start, end)
        collected += found
        if is_complete:
            break
    return collected
