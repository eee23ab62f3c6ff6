"""Where the records of a time begin, in a log that another process may write."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from struct import Struct
from typing import Final

from logstore.file_name import FileKind
from logstore.offline.live.index_entry import last_entry
from logstore.offline.live.segment_piece import SegmentPieces
from logstore.offline.segment import Segment
from logstore.segment.read_view import ReadView

_SLOT: Final = Struct(">qi")


def offsets_since(
    read: Callable[[int, int], ReadView], segments: Sequence[Segment], start: int, timestamp: int
) -> Iterator[int]:
    """Yield the offsets of the records from `start` on that are not before `timestamp`.

    Raises FileNotFoundError where a segment was deleted since it was listed, and what `read` raises.
    """
    ends = (*(segment.base_offset for segment in segments[1:]), None)
    for segment, end in zip(segments, ends, strict=False):  # there may be no segment
        if end is not None and end <= start:
            continue
        with closing(SegmentPieces.of(segment)) as pieces:
            place = max(pieces.find(start), _indexed(pieces, segment, timestamp))
            for offset in pieces.reaching(*place, timestamp):
                records = read(max(offset, start), 0).records()
                yield from (record.offset for record in records if record.timestamp >= timestamp)


def _indexed(pieces: SegmentPieces, segment: Segment, timestamp: int) -> tuple[int, int]:
    """Return the place up to which the time index has all as earlier, believed where its batch is as it says."""
    nowhere = 0, segment.base_offset
    path = segment.files.get(FileKind.TIME_INDEX)
    try:
        entry = None if path is None else last_entry(path, _SLOT, lambda *each: each == (0, 0) or each[0] >= timestamp)
    except FileNotFoundError:
        return nowhere
    if entry is None:
        return nowhere
    place = pieces.find(segment.base_offset + entry[1])
    return place if pieces.largest_timestamp(place[0]) == entry[0] else nowhere
