"""What the batches of a log say of its offsets: one pass over its files."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epoch.history import MAX_OFFSET
from logstore.batch.batch_attributes import CODEC_BITS, CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns
from logstore.batch.control import ControlType
from logstore.batch.layout import MAGIC
from logstore.errors import CorruptRecordError
from logstore.offline.columns.control_types import control_types, is_valid
from logstore.offline.columns.decoded_records import Unreadable, decoded_records
from logstore.offline.columns.record_faults import unreadable_batches
from logstore.offline.log_file import LogFile
from logstore.offline.recovered_log import RecoveredLog
from logstore.verify.log_pieces import DamagedBytes, read_pieces
from replication.copies.explain.offset_runs import (
    TRANSACTIONAL,
    Runs,
    joined,
    kinds_of,
    runs_of,
    runs_of_records,
    runs_of_unreadable,
)

MARKER: Final = np.dtype(
    [
        ("producer", np.int64),
        ("offset", np.int64),
        ("is_abort", np.bool_),
        ("file", np.int32),
        ("position", np.int64),
    ]
)
DAMAGE: Final = np.dtype(
    [
        ("offset", np.int64),  # that was expected there
        ("last", np.int64),  # that a damaged batch claims to have; -1 where nothing can be read
        ("file", np.int32),
        ("position", np.int64),
    ]
)
NOWHERE: Final = np.empty(0, np.int64)
_MARKED: Final = TRANSACTIONAL_BIT | CONTROL_BIT


class NamedFile(NamedTuple):
    """A log file and the copy that it belongs to."""

    copy: str
    path: Path


class Piece(NamedTuple):
    """A mapped log file, and between which offsets its batches must be."""

    log: LogFile
    least: int
    end: int


@dataclass(slots=True)
class WalkedLog:
    """Runs, markers and damage of a log, as far as was asked for."""

    runs: Runs
    markers: NDArray[np.void]
    """Rows of MARKER."""
    damage: NDArray[np.void]
    """Rows of DAMAGE, by offset."""
    begun: Runs
    """Batches of transactions that have fewer records than offsets, as a whole: a transaction may begin with one."""
    cleaned_to: int
    """Behind the last batch that has fewer records than offsets: the cleaner has been over all before it."""


def walk(
    log: RecoveredLog,
    copy: str,
    files: list[NamedFile],
    start: int,
    end: int,
    cuts: NDArray[np.int64] = NOWHERE,
    progress: Callable[[int], object] = lambda _: None,
) -> WalkedLog:
    """Read a log's batches, whose files are appended to `files`; a run begins with each that holds one of `cuts`.

    Checksums are checked, and records counted, in the files that hold offsets from `start` up to `end`; of the others
    only headers are read. `progress` is called with the bytes of each file that was read. Raises OSError.
    """
    bases = [segment.base_offset for segment in log.segments]
    ends = dict(zip(bases, [*bases[1:], MAX_OFFSET], strict=True))
    base_of = {segment.log_path: segment.base_offset for segment in log.segments}

    def pieces() -> Iterator[Piece]:
        for file in log.files_from(log.log_start_offset):
            base = base_of[file.path] if file.path else 0
            yield Piece(file, base, ends[base])
            progress(file.size)

    return walk_pieces(pieces(), copy, files, start, end, cuts)


def walk_pieces(
    pieces: Iterable[Piece],
    copy: str,
    files: list[NamedFile],
    start: int,
    end: int,
    cuts: NDArray[np.int64] = NOWHERE,
) -> WalkedLog:
    """Read batches file by file. Raises OSError."""
    walked = _Walk(start, end, np.sort(np.append(start, cuts), kind="stable"))
    for piece in pieces:
        files.append(NamedFile(copy, piece.log.path or Path()))
        walked.read(piece, len(files) - 1)
    return walked.done()


@dataclass(slots=True)
class _Walk:
    start: int
    end: int
    cuts: NDArray[np.int64]
    last: int = -1
    """The highest offset so far."""
    runs: list[Runs] = field(default_factory=list)
    markers: list[NDArray[np.void]] = field(default_factory=list)
    damage: list[NDArray[np.void]] = field(default_factory=list)
    begun: list[Runs] = field(default_factory=list)
    cleaned_to: int = 0

    def read(self, piece: Piece, file: int) -> None:
        is_asked = piece.least < self.end and piece.end > self.start
        pieces = read_pieces(piece.log, lambda log, at: log.scan(at, check_crc=is_asked, threads=2))
        for found in pieces:
            if isinstance(found, DamagedBytes):
                self._note_damage(np.array([self.last + 1]), np.array([-1]), np.array([found.start]), file)
            else:
                self._take(piece, found, file, is_checked=is_asked)

    def done(self) -> WalkedLog:
        return WalkedLog(
            joined(self.runs),
            np.concatenate([np.empty(0, MARKER), *self.markers]),
            np.concatenate([np.empty(0, DAMAGE), *self.damage]),
            joined(self.begun),
            self.cleaned_to,
        )

    def _take(self, piece: Piece, columns: BatchColumns, file: int, *, is_checked: bool) -> None:
        before, is_sound = self._in_order(piece, columns)
        if not is_sound.all():
            odd = ~is_sound
            self._note_damage(before[odd] + 1, columns.last_offset[odd], columns.position[odd], file)
            columns = columns.where(is_sound)
        if not len(columns):
            return
        before = np.concatenate(([self.last], columns.last_offset[:-1]))
        self.last = int(columns.last_offset[-1])
        is_unreadable = self._unreadable(piece.log, columns) if is_checked else columns.is_unread
        if is_unreadable.any():
            self._note_unreadable(columns.where(is_unreadable), before[is_unreadable], file)
            columns = columns.where(~is_unreadable)
        if not len(columns):
            return
        has_holes = columns.record_count <= columns.last_offset - columns.base_offset
        if not has_holes.any():
            self.runs.append(runs_of(columns, file, self.cuts))
        else:
            self.cleaned_to = int(columns.last_offset[np.flatnonzero(has_holes)[-1]]) + 1
            self._take_apart(piece.log, columns, has_holes, file)
        self._take_markers(piece.log, columns, file, is_checked=is_checked)

    def _in_order(self, piece: Piece, columns: BatchColumns) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the highest offset before each batch, and whether the batch can be there."""
        fits = columns.crc_valid & (columns.base_offset >= piece.least) & (columns.last_offset < piece.end)
        reached = np.maximum.accumulate(np.where(fits, columns.last_offset, -1))
        before = np.maximum(np.concatenate(([-1], reached[:-1])), self.last)
        return before, fits & (columns.base_offset > before)

    def _unreadable(self, log: LogFile, columns: BatchColumns) -> NDArray[np.bool_]:
        """Return which batches cannot be read, of those that are asked for."""
        is_asked = (columns.last_offset >= self.start) & (columns.base_offset < self.end)
        is_unreadable = columns.is_unread.copy()
        found = unreadable_batches(log.data, columns, np.flatnonzero(is_asked & ~is_unreadable))
        is_unreadable[[each.row for each in found]] = True
        return is_unreadable

    def _note_unreadable(self, columns: BatchColumns, before: NDArray[np.int64], file: int) -> None:
        """Note batches that cannot be read.

        Nothing shows how many messages are wrapped, so that what is missing before may be in there.
        """
        first = np.where(columns.is_unread, before + 1, columns.base_offset)
        self.runs.append(runs_of_unreadable(first, columns, file))

    def _take_apart(self, log: LogFile, columns: BatchColumns, has_holes: NDArray[np.bool_], file: int) -> None:
        """Find which offsets a batch has that the cleaner was over."""
        is_asked = (columns.last_offset >= self.start) & (columns.base_offset < self.end)
        self.begun.append(runs_of(columns.where(has_holes & (kinds_of(columns) == TRANSACTIONAL)), file, self.cuts))
        counted = has_holes & is_asked & (columns.record_count > 0)
        found = [runs_of(columns.where(~(has_holes & is_asked)), file, self.cuts)]
        for records in decoded_records(log.data, columns, np.flatnonzero(counted)):
            if isinstance(records, Unreadable):
                row = np.array([records.row])
                found.append(runs_of_unreadable(columns.base_offset[row], columns.where(row), file))
            else:
                found.append(runs_of_records(records.offset, records.batch, columns, file, self.cuts))
        self.runs.append(joined(found))

    def _take_markers(self, log: LogFile, columns: BatchColumns, file: int, *, is_checked: bool) -> None:
        is_marker = (columns.attributes & (_MARKED | CODEC_BITS) == _MARKED) & (columns.magic == MAGIC)
        rows = np.flatnonzero(is_marker & (columns.record_count == 1))
        if not is_checked:  # a marker decides on what is asked for, wherever it stands
            rows = rows[[is_valid(log.data, columns, row) for row in rows.tolist()]]
        if not len(rows):
            return
        try:
            records, types = control_types(log.data, columns, rows)
        except CorruptRecordError:
            return
        is_end = np.isin(types, (ControlType.ABORT, ControlType.COMMIT))
        batch = records.batch[is_end]
        markers = np.empty(len(batch), MARKER)
        markers["producer"], markers["offset"] = columns.producer_id[batch], records.offset[is_end]
        markers["is_abort"], markers["file"] = types[is_end] == ControlType.ABORT, file
        markers["position"] = columns.position[batch]
        self.markers.append(markers)

    def _note_damage(
        self, offset: NDArray[np.int64], last: NDArray[np.int64], position: NDArray[np.int64], file: int
    ) -> None:
        damage = np.empty(len(offset), DAMAGE)
        damage["offset"], damage["last"], damage["file"], damage["position"] = offset, last, file, position
        self.damage.append(damage)
