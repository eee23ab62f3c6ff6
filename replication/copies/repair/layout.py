"""Which bytes each segment of the repaired copy consists of, and where they are read."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from epoch.history import MAX_OFFSET
from logstore.batch.layout import LENGTH_AT
from logstore.file_name import FileKind
from logstore.offline.log_file import LogFile
from replication.copies.repair.filling import Filling, Run
from replication.copies.repair.gap import Gap
from replication.copies.repair.scanned_copy import ScannedCopy


class Piece(NamedTuple):
    """Bytes of a log file, from `start` up to `end`."""

    log: LogFile
    start: int
    end: int


@dataclass(slots=True)
class Layout:
    """The pieces of each segment, by its base offset, in order."""

    copy: ScannedCopy
    bases: list[int]
    """Of all segments that there will be, ascending."""
    pieces: dict[int, list[Piece]] = field(default_factory=dict)

    @classmethod
    def of(cls, copy: ScannedCopy, filled: Sequence[tuple[Gap, Filling]]) -> "Layout":
        """Put together what is kept and what gaps are filled with."""
        bases = sorted({*copy.bases, *(base for gap, filling in filled for base in _begun(copy, gap, filling))})
        layout = cls(copy, bases)
        row = 0
        for gap, filling in filled:
            layout._keep(row, gap.row)
            row = gap.row
            for run in filling.head:
                layout._put_in(run)
            for region in filling.kept:
                layout._add(copy.bases[region.segment], Piece(copy.logs[region.segment], region.start, region.end))
            for run in filling.tail:
                layout._put_in(run)
        return layout

    def changed(self) -> dict[int, list[Piece]]:
        """Return the segments that differ from what the copy has, by base offset."""
        whole = {
            segment.base_offset: [Piece(log, 0, log.size)] if log.size else []
            for segment, log in zip(self.copy.segments, self.copy.logs, strict=True)
        }
        return {base: self.pieces.get(base, []) for base in self.bases if self.pieces.get(base, []) != whole.get(base)}

    def outdated(self) -> set[int]:
        """Return the base offsets of segments whose indexes cannot be those of the repaired log.

        Batches of the copy come to stand elsewhere, or others follow that no index speaks of.
        """
        numbers = {base: number for number, base in enumerate(self.copy.bases)}
        return {
            base
            for base, pieces in self.changed().items()
            if self._shifts(pieces) or (base in numbers and self._outgrows(numbers[base], pieces))
        }

    def _shifts(self, pieces: Sequence[Piece]) -> bool:
        position = 0
        for piece in pieces:
            if position != piece.start and self._is_own(piece):
                return True
            position += piece.end - piece.start
        return False

    def _outgrows(self, number: int, pieces: Sequence[Piece]) -> bool:
        own = [place for place, piece in enumerate(pieces) if self._is_own(piece)]
        added = pieces[own[-1] + 1 :] if own else pieces
        if not added:
            return False
        first_offset = int.from_bytes(added[0].log.data[added[0].start : added[0].start + LENGTH_AT], "big")
        return not self.copy.reached_by_index(number, first_offset, MAX_OFFSET)

    def _is_own(self, piece: Piece) -> bool:
        return any(piece.log is log for log in self.copy.logs)

    def _keep(self, first: int, end: int) -> None:
        """Keep batches of the copy, which stand one behind the other but for the ends of segments."""
        rows = self.copy.rows
        changes = np.flatnonzero(np.diff(rows.segment[first:end])) + first + 1
        for begin, stop in zip([first, *changes.tolist()], [*changes.tolist(), end], strict=True):
            if begin < stop:
                number = int(rows.segment[begin])
                span = int(rows.position[begin]), int(rows.position[stop - 1] + rows.size[stop - 1])
                self._add(self.copy.bases[number], Piece(self.copy.logs[number], *span))

    def _put_in(self, run: Run) -> None:
        """Divide batches of another copy among the segments that they belong into, and where they stand apart."""
        rows = run.other.rows
        base_of = np.searchsorted(self.bases, rows.base_offset[run.first : run.end], "right") - 1
        ends = rows.position[run.first : run.end] + rows.size[run.first : run.end]
        apart = np.diff(base_of) != 0
        apart |= np.diff(rows.segment[run.first : run.end]) != 0
        apart |= ends[:-1] != rows.position[run.first + 1 : run.end]
        cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), run.end - run.first]
        for begin, stop in pairwise(cuts):
            log = run.other.logs[int(rows.segment[run.first + begin])]
            place = Piece(log, int(rows.position[run.first + begin]), int(ends[stop - 1]))
            self._add(self.bases[int(base_of[begin])], place)

    def _add(self, base: int, piece: Piece) -> None:
        pieces = self.pieces.setdefault(base, [])
        if pieces and pieces[-1].log is piece.log and pieces[-1].end == piece.start:
            piece = pieces.pop()._replace(end=piece.end)
        pieces.append(piece)


def _begun(copy: ScannedCopy, gap: Gap, filling: Filling) -> Iterator[int]:
    """Find the base offsets of segments that are missing within a gap, of those that get batches."""
    if not filling.runs:
        return
    start, end = filling.runs[0].start_offset, filling.runs[-1].end_offset
    told = {base for base in copy.bases_without_log() if start <= base < end}
    missing = _missing_from(copy, gap, filling)
    if missing is not None:
        # A broker takes a snapshot where a segment begins.
        told |= {base for base in copy.names.get(FileKind.PRODUCER_SNAPSHOT, ()) if missing < base < end}
        if not told:
            others = (base for run in filling.runs for base in run.other.bases if base < run.end_offset)
            told = {base for base in others if missing < base}
        told.add(missing)
    yield from told


def _missing_from(copy: ScannedCopy, gap: Gap, filling: Filling) -> int | None:
    """Return where segments begin of which no log is left; None where nothing shows that there were any."""
    start = filling.runs[0].start_offset
    number = bisect_right(copy.bases, gap.start) - 1
    if number < 0:
        return start if not copy.bases or start < copy.bases[0] else None
    if copy.bases[number] == gap.start:
        return None  # its file is there, and damaged or empty
    begins = _end_of_file(copy, gap, filling) if gap.regions else start
    if gap.end is None:
        # Else nothing tells the end of the last segment from the beginning of another.
        return begins if begins in copy.names.get(FileKind.PRODUCER_SNAPSHOT, ()) else None
    is_between = bool(gap.regions) or gap.end in copy.bases
    return begins if is_between and not copy.reached_by_index(number, begins or gap.end, gap.end) else None


def _end_of_file(copy: ScannedCopy, gap: Gap, filling: Filling) -> int | None:
    """Return the offset where batches fill the damaged end of a segment's file to the byte; None where none do so."""
    [first, *_] = gap.regions
    if first.end != copy.logs[first.segment].size:
        return None
    room = first.end - first.start
    for run in filling.head:
        filled = np.cumsum(run.other.rows.size[run.first : run.end])
        place = int(np.searchsorted(filled, room))
        if place < len(filled) and filled[place] == room:
            end = int(run.other.rows.last_offset[run.first + place]) + 1
            return end if end < filling.runs[-1].end_offset and end not in copy.bases else None
        room -= int(filled[-1])
    return None
