"""What is in a log file, in order: batches, and what is between them that should not be."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from logstore.batch.any_batch import Batch
from logstore.errors import LogStoreError
from logstore.offline.log_file import LogFile
from logstore.offline.tail_rereader import TailRereader

if TYPE_CHECKING:
    from logstore.offline.batch_search import BatchSearch


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes of a log file that hold no batches: `size` of them from `position` on."""

    position: int
    size: int


@dataclass(frozen=True, slots=True)
class ZeroTail(Gap):
    """The rest of the file is zeros: preallocated, or never written before the power was lost."""


@dataclass(frozen=True, slots=True)
class DamagedGap(Gap):
    """No batch begins here, as `error` says, nor before the end of the gap, which may be that of the file."""

    error: LogStoreError
    is_last: bool


def read_log(path: Path) -> Iterator[Batch | Gap]:
    """Read a log file to its end, over damage to the next valid batch. Raises OSError."""
    growing, position = TailRereader(path), 0
    while True:
        with growing.open() as log:
            for piece in _read_batches_and_gaps(log, position):
                if isinstance(piece, Gap) and piece.position + piece.size == log.size:
                    break
                position = piece.position + piece.size
                yield piece
            else:
                return
        # A broker may be in the middle of a write.
        if not growing.is_worth_another_read():
            yield piece
            return


def _read_batches_and_gaps(log: LogFile, position: int) -> Iterator[Batch | Gap]:
    # numba loads only behind damage, which most files do not have.
    search: BatchSearch | None = None
    while True:
        try:
            yield from log.batches(position)
        except LogStoreError as error:
            position = error.position or 0
            if _is_zero_from(log, position):
                yield ZeroTail(position, log.size - position)
                return
            search = search or _search(log)
            found = search.find(position + 1)
            end = found if found >= 0 else log.size
            yield DamagedGap(position, end - position, error, is_last=found < 0)
            position = end
        else:
            return
        if position == log.size:
            return


def _search(log: LogFile) -> "BatchSearch":
    from logstore.offline.batch_search import BatchSearch

    return BatchSearch(log)


def _is_zero_from(log: LogFile, position: int) -> bool:
    from logstore.offline.holes import end_of_zeros

    return end_of_zeros(log.array, position, log.path) == log.size
