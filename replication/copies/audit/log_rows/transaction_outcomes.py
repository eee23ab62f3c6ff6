"""How transactions ended, by the markers in a log (KIP-98): a producer's next marker decides on its records before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from epoch.history import MAX_OFFSET
from logstore.batch.batch_attributes import CODEC_BITS, CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns
from logstore.batch.control import ControlType
from logstore.batch.layout import MAGIC
from logstore.errors import CorruptRecordError
from logstore.offline.columns.control_types import control_types, is_valid
from logstore.offline.log_file import LogFile
from logstore.verify.log_pieces import DamagedBytes, read_pieces
from replication.copies.audit.snapshots.work import ByteRange

Offsets = NDArray[np.int64]
ABORTED: Final = 1
COMMITTED: Final = 0
UNDECIDED: Final = -1
"""Still open at the end of the log, or its marker may be lost to damage."""
LARGEST_MARKER: Final = 128
"""Bytes of a batch that may be a marker."""
_NONE: Final = np.empty(0, np.int64)


class Markers(NamedTuple):
    """The ends of transactions, as columns."""

    producer_id: Offsets
    offset: Offsets
    is_abort: NDArray[np.bool_]

    def take(self, rows: NDArray[np.int64]) -> "Markers":
        """Return those in these rows."""
        return Markers(self.producer_id[rows], self.offset[rows], self.is_abort[rows])


_NO_MARKERS: Final = Markers(_NONE, _NONE, _NONE.astype(np.bool_))


class OpenTransactions(NamedTuple):
    """The producers with a transaction of which no end has been seen, and the first offset of each."""

    producer_id: Offsets = _NONE
    offset: Offsets = _NONE

    def then(self, data: BatchColumns, ends: Markers) -> "OpenTransactions":
        """Return those that are open once `data`, batches of producers in transactions, and `ends` have followed."""
        producers = np.concatenate((self.producer_id, data.producer_id))
        offsets = np.concatenate((self.offset, data.base_offset))
        last_ends = dict(zip(ends.producer_id.tolist(), ends.offset.tolist(), strict=True))  # the last of each is kept
        known, numbers = np.unique(producers, return_inverse=True)
        decided_to = np.array([last_ends.get(producer, -1) for producer in known.tolist()], np.int64)
        is_open = offsets > decided_to[numbers]
        still, first = np.unique(producers[is_open], return_index=True)
        return OpenTransactions(still, offsets[is_open][first])


_NO_TRANSACTIONS: Final = OpenTransactions()


@dataclass(frozen=True, slots=True)
class TransactionOutcomes:
    """The markers of a log by producer and offset, and where what was not readable may have held others."""

    markers: Markers
    damaged_at: Offsets
    """The offsets at which something could not be read."""
    last_stable_offset: int
    """Where the first transaction begins that is still open at the log's end; beyond all offsets without one."""

    @classmethod
    def read(cls, logs: Iterable[tuple[int, LogFile]], asked: Sequence[ByteRange], *, to_the_end: bool = True) -> Self:
        """Walk over the headers of a log's files, which come in order with their base offsets.

        Kept is what decides on the batches that are `asked` for. Unless the walk goes `to_the_end`, which alone shows
        the last stable offset, it ends with the last transaction of those. Raises OSError.
        """
        first, last = asked[0].base_offset, asked[-1].base_offset
        walk = _Walk()
        for base_offset, log in logs:
            if base_offset > last and not to_the_end and not len(walk.undecided.offset):
                break
            for piece in read_pieces(log, lambda log, position: log.scan(position, check_crc=False)):
                if isinstance(piece, DamagedBytes):
                    walk.damaged_at.append(walk.next_offset)
                else:
                    walk.take(piece, *_markers(log, piece), is_asked=first <= base_offset <= last)
        markers = Markers(*(np.concatenate(columns) for columns in zip(*walk.markers, strict=True)))
        order = np.lexsort((markers.offset, markers.producer_id))
        begun = int(walk.open.offset.min()) if len(walk.open.offset) else MAX_OFFSET
        return cls(markers.take(order), np.array(sorted(walk.damaged_at), np.int64), begun)

    def of(self, columns: BatchColumns) -> NDArray[np.int8]:
        """Return of each batch how its transaction ended; what is in none is committed."""
        outcome = np.full(len(columns), COMMITTED, np.int8)
        transactional = is_transactional_data(columns)
        for producer in np.unique(columns.producer_id[transactional]).tolist():
            rows = np.flatnonzero(transactional & (columns.producer_id == producer))
            outcome[rows] = self._of_producer(producer, columns.base_offset[rows])
        return outcome

    def committed(self, columns: BatchColumns) -> NDArray[np.bool_]:
        """Return which batches a consumer of committed records is given."""
        is_control = (columns.attributes & CONTROL_BIT != 0) & (columns.magic == MAGIC)
        is_stable = columns.last_offset < self.last_stable_offset
        committed: NDArray[np.bool_] = is_stable & (self.of(columns) == COMMITTED) & ~is_control
        return committed

    def _of_producer(self, producer: int, offsets: Offsets) -> NDArray[np.int8]:
        first, last = np.searchsorted(self.markers.producer_id, (producer, producer + 1))
        # Behind the last marker there is none: then nothing is decided.
        ends = np.append(self.markers.offset[first:last], MAX_OFFSET)
        decisions = np.append(self.markers.is_abort[first:last].astype(np.int8), np.int8(UNDECIDED))
        deciding = np.searchsorted(ends[:-1], offsets, "right")
        in_doubt = np.searchsorted(self.damaged_at, offsets, "right") != np.searchsorted(
            self.damaged_at, ends[deciding], "right"
        )
        return np.where(in_doubt, np.int8(UNDECIDED), decisions[deciding])


@dataclass(slots=True)
class _Walk:
    """What is known of a log's transactions so far."""

    markers: list[Markers] = field(default_factory=lambda: [_NO_MARKERS])
    damaged_at: list[int] = field(default_factory=list)
    open: OpenTransactions = _NO_TRANSACTIONS
    undecided: OpenTransactions = _NO_TRANSACTIONS
    """Of what is asked for."""
    next_offset: int = 0

    def take(self, piece: BatchColumns, markers: Markers, unread: list[int], *, is_asked: bool) -> None:
        """Go over batches, some of which are markers. Behind what is asked for only the ends of its producers count."""
        self.next_offset = int(piece.last_offset.max()) + 1
        self.damaged_at += unread
        data = piece.where(is_transactional_data(piece))
        wanted = (
            markers
            if is_asked
            else markers.take(np.flatnonzero(np.isin(markers.producer_id, self.undecided.producer_id)))
        )
        self.markers.append(wanted)
        self.open = self.open.then(data, markers)
        self.undecided = self.undecided.then(data if is_asked else data.where(np.zeros(len(data), np.bool_)), markers)


def is_transactional_data(columns: BatchColumns) -> NDArray[np.bool_]:
    """Return which batches are producers' own within transactions."""
    flags = columns.attributes & (TRANSACTIONAL_BIT | CONTROL_BIT)
    found: NDArray[np.bool_] = (flags == TRANSACTIONAL_BIT) & (columns.magic == MAGIC)
    return found


def _markers(log: LogFile, columns: BatchColumns) -> tuple[Markers, list[int]]:
    """Read the markers among the batches, and at which offsets one could not be read."""
    flags = TRANSACTIONAL_BIT | CONTROL_BIT
    is_marker = (
        (columns.attributes & flags == flags) & (columns.magic == MAGIC) & (columns.attributes & CODEC_BITS == 0)
    )
    rows = np.flatnonzero(is_marker | (columns.size <= LARGEST_MARKER))
    valid = np.array([is_valid(log.data, columns, row) for row in rows.tolist()], np.bool_)
    # A marker is a batch by itself: another count is a lie. A small batch that is damaged may have been one.
    is_sound = valid & (columns.record_count[rows] == 1)
    unread = columns.base_offset[rows[~valid | (is_marker[rows] & ~is_sound)]].tolist()
    rows = rows[is_marker[rows] & is_sound]
    if not len(rows):
        return _NO_MARKERS, unread
    try:
        records, kinds = control_types(log.data, columns, rows)
    except CorruptRecordError:
        return _NO_MARKERS, unread + columns.base_offset[rows].tolist()
    known = np.isin(kinds, (ControlType.ABORT, ControlType.COMMIT))
    unread += records.offset[~known].tolist()
    ends = Markers(columns.producer_id[records.batch], records.offset, kinds == ControlType.ABORT)
    return ends.take(np.flatnonzero(known)), unread
