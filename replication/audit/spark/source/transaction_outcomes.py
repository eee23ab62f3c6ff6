"""How transactions ended, by the markers in a log (KIP-98): a producer's next marker decides on its records before."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import crc32c
import numpy as np
from numpy.typing import NDArray

from epoch.history import MAX_OFFSET
from logstore.batch.batch_attributes import CODEC_BITS, CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.batch.control import ControlType
from logstore.batch.layout import CRC_START, MAGIC
from logstore.errors import CorruptRecordError
from logstore.offline.log_file import LogFile
from replication.audit.spark.source.log_pieces import Damage, read_pieces

Offsets = NDArray[np.int64]
ABORTED: Final = 1
COMMITTED: Final = 0
UNDECIDED: Final = -1
"""Still open at the end of the log, or its marker may be lost to damage."""
_KEY_BYTES: Final = 4
_NONE: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class TransactionOutcomes:
    """The markers of a log by producer and offset, and where what was not readable may have held others."""

    producer_id: Offsets
    offset: Offsets
    is_abort: NDArray[np.bool_]
    damaged_at: Offsets
    """The offsets at which something could not be read."""
    last_stable_offset: int
    """Where the first transaction begins that is still open at the log's end; beyond all offsets without one."""

    @classmethod
    def read(cls, files: Iterable[Path]) -> Self:
        """Walk over the headers of a log's files, in order. Raises OSError."""
        markers: list[tuple[Offsets, Offsets, NDArray[np.bool_]]] = [(_NONE, _NONE, _NONE.astype(np.bool_))]
        damaged_at: list[int] = []
        data: list[tuple[Offsets, Offsets]] = [(_NONE, _NONE)]
        next_offset = 0
        for file in files:
            with LogFile.open(file) as log:
                for piece in read_pieces(log, lambda log, position: log.scan(position, check_crc=False)):
                    if isinstance(piece, Damage):
                        damaged_at.append(next_offset)
                        continue
                    next_offset = int(piece.last_offset.max()) + 1
                    found, unread = _markers(log, piece)
                    markers.append(found)
                    rows = is_transactional_data(piece)
                    data.append((piece.producer_id[rows], piece.base_offset[rows]))
                    damaged_at += unread
        producer_id, offset, is_abort = (np.concatenate(columns) for columns in zip(*markers, strict=True))
        order = np.lexsort((offset, producer_id))
        begun = _open_from(producer_id, offset, *(np.concatenate(columns) for columns in zip(*data, strict=True)))
        return cls(producer_id[order], offset[order], is_abort[order], np.array(sorted(damaged_at), np.int64), begun)

    def of(self, columns: BatchColumns) -> NDArray[np.int8]:
        """Return of each batch how its transaction ended; what is in none is committed."""
        outcome = np.full(len(columns), COMMITTED, np.int8)
        transactional = is_transactional_data(columns)
        for producer in np.unique(columns.producer_id[transactional]).tolist():
            rows = np.flatnonzero(transactional & (columns.producer_id == producer))
            outcome[rows] = self._of_producer(producer, columns.base_offset[rows])
        return outcome

    def _of_producer(self, producer: int, offsets: Offsets) -> NDArray[np.int8]:
        first, last = np.searchsorted(self.producer_id, (producer, producer + 1))
        # Behind the last marker there is none: then nothing is decided.
        ends = np.append(self.offset[first:last], MAX_OFFSET)
        decisions = np.append(self.is_abort[first:last].astype(np.int8), np.int8(UNDECIDED))
        deciding = np.searchsorted(ends[:-1], offsets, "right")
        in_doubt = np.searchsorted(self.damaged_at, offsets, "right") != np.searchsorted(
            self.damaged_at, ends[deciding], "right"
        )
        return np.where(in_doubt, np.int8(UNDECIDED), decisions[deciding])


def _open_from(producer_id: Offsets, offset: Offsets, data_producer_id: Offsets, data_offset: Offsets) -> int:
    """Find the first batch that no marker of its producer follows."""
    last_markers = dict(zip(producer_id.tolist(), offset.tolist(), strict=True))  # the last of each is kept
    producers, numbers = np.unique(data_producer_id, return_inverse=True)
    decided_to = np.array([last_markers.get(producer, -1) for producer in producers.tolist()], np.int64)
    is_open = data_offset > decided_to[numbers] if len(producers) else np.zeros(0, np.bool_)
    return int(data_offset[is_open].min()) if is_open.any() else MAX_OFFSET


def is_transactional_data(columns: BatchColumns) -> NDArray[np.bool_]:
    """Return which batches are producers' own within transactions."""
    flags = columns.attributes & (TRANSACTIONAL_BIT | CONTROL_BIT)
    found: NDArray[np.bool_] = (flags == TRANSACTIONAL_BIT) & (columns.magic == MAGIC)
    return found


def _markers(log: LogFile, columns: BatchColumns) -> tuple[tuple[Offsets, Offsets, NDArray[np.bool_]], list[int]]:
    """Read the markers among the batches, and at which offsets one could not be read."""
    flags = TRANSACTIONAL_BIT | CONTROL_BIT
    is_marker = (
        (columns.attributes & flags == flags) & (columns.magic == MAGIC) & (columns.attributes & CODEC_BITS == 0)
    )
    rows = np.flatnonzero(is_marker)
    valid = np.array([_is_valid(log, columns, row) for row in rows.tolist()], np.bool_)
    unread = columns.base_offset[rows[~valid]].tolist()
    rows = rows[valid]
    if not len(rows):
        return (_NONE, _NONE, _NONE.astype(np.bool_)), unread
    from logstore.kernels.decode import decode  # noqa: PLC0415  numba loads on the first bulk operation

    try:
        records = decode(log.array, columns, rows)
    except CorruptRecordError:
        return (_NONE, _NONE, _NONE.astype(np.bool_)), unread + columns.base_offset[rows].tolist()
    kinds = _kinds(records)
    known = np.isin(kinds, (ControlType.ABORT, ControlType.COMMIT))
    unread += records.offset[~known].tolist()
    return (
        columns.producer_id[records.batch[known]],
        records.offset[known],
        kinds[known] == ControlType.ABORT,
    ), unread


def _kinds(records: RecordColumns) -> NDArray[np.int16]:
    """Read the types in the keys of control records; -1 where a key is too short to have one."""
    is_whole = records.key_length >= _KEY_BYTES
    at = np.where(is_whole, records.key_start, 0)
    kinds = records.data[at + 2].astype(np.int16) << 8 | records.data[at + 3]
    return np.where(is_whole, kinds, np.int16(-1))


def _is_valid(log: LogFile, columns: BatchColumns, row: int) -> bool:
    start, size = int(columns.position[row]), int(columns.size[row])
    return bool(crc32c.crc32c(log.data[start + CRC_START : start + size]) == int(columns.crc[row]))
