"""What is in a log file, in order: batches, and what is between them that should not be."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logstore.batches import Batch
from logstore.errors import LogStoreError
from logstore.log_file import LogFile

TAIL_READS: Final = 5
"""How often the tail of a log that is being written is read again before it is called damaged."""
_ZEROS: Final = bytes(1 << 16)


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes of a log file that hold no batches: `size` of them from `position` on."""

    position: int
    size: int


@dataclass(frozen=True, slots=True)
class ZeroTail(Gap):
    """The rest of the file is zeros: preallocated, or never written before the power was lost."""


@dataclass(frozen=True, slots=True)
class Damage(Gap):
    """No batch begins here, as `error` says, nor before the end of the gap, which may be that of the file."""

    error: LogStoreError
    is_last: bool


def read_log(path: Path) -> Iterator[Batch | Gap]:
    """Read a log file to its end, over damage to the next valid batch. Raises OSError."""
    position, reads = 0, 0
    while True:
        with LogFile.open(path) as log:
            try:
                yield from log.batches(position)
            except LogStoreError as error:
                position = error.position or 0
                if reads < TAIL_READS and path.stat().st_size > log.size:
                    reads += 1
                    continue
                gap = _gap(log, position, error)
            else:
                return
            yield gap
            position += gap.size
            if position == log.size:
                return


def _gap(log: LogFile, position: int, error: LogStoreError) -> Gap:
    if _is_zero(log.data[position:]):
        return ZeroTail(position, log.size - position)
    # numba loads only here: most files have no damage.
    from logstore.kernels.scan import find_next_batch

    found = find_next_batch(log.array, position + 1, log.size, 0)
    end = found if found >= 0 else log.size
    return Damage(position, end - position, error, is_last=found < 0)


def _is_zero(data: memoryview) -> bool:
    return all(
        data[start : start + len(_ZEROS)] == _ZEROS[: len(data) - start] for start in range(0, len(data), len(_ZEROS))
    )
