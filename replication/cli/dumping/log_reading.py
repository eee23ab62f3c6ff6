"""What is in a log file, in order: batches, and what is between them that should not be."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from logstore.batches import Batch
from logstore.errors import LogStoreError
from logstore.log_file import LogFile

TAIL_READS: Final = 5
"""How often the tail of a log that is being written is read again before it is called damaged."""
_ZEROS: Final = bytes(1 << 16)


class Damage(NamedTuple):
    """No batch begins where `error` says; `resumes` is where the next valid one begins, None if there is none."""

    error: LogStoreError
    resumes: int | None


class ZeroTail(NamedTuple):
    """The rest of the file is zeros: preallocated, or never written before the power was lost."""

    position: int
    size: int


Item = Batch | Damage | ZeroTail


def read_log(path: Path) -> Iterator[Item]:
    """Read a log file to its end, over damage to the next valid batch. Raises OSError."""
    position, reads = 0, 0
    while True:
        with LogFile.open(path) as log:
            try:
                for batch in log.batches(position):
                    yield batch
                    position = batch.position + batch.size
            except LogStoreError as error:
                if reads < TAIL_READS and path.stat().st_size > log.size:
                    reads += 1
                    continue
                if _is_zero(log.data[position:]):
                    yield ZeroTail(position, log.size - position)
                    return
                resumes = _next_batch(log, position)
                yield Damage(error, resumes)
                if resumes is not None:
                    position = resumes
                    continue
            return


def _is_zero(data: memoryview) -> bool:
    return all(
        data[start : start + len(_ZEROS)] == _ZEROS[: len(data) - start] for start in range(0, len(data), len(_ZEROS))
    )


def _next_batch(log: LogFile, position: int) -> int | None:
    """Find where to read on. numba loads only here: most files have no damage."""
    from logstore.kernels.scan import find_next_batch

    found = find_next_batch(log.array, position + 1, log.size, 0)
    return found if found >= 0 else None
