"""The pieces of a log file, one after the other: batches, and what is none."""

from collections.abc import Iterator
from dataclasses import dataclass

from logstore.batch.columns import BatchColumns
from logstore.offline.log_file import LogFile
from logstore.verify.log_pass import Scan


@dataclass(frozen=True, slots=True)
class DamagedBytes:
    """Bytes from `start` on and before `end` that are no batches."""

    start: int
    end: int


def read_pieces(log: LogFile, scan: Scan, position: int = 0) -> Iterator[BatchColumns | DamagedBytes]:
    """Read a log file's batches as `scan` does from `position` on, over damage to the next valid batch."""
    from logstore.offline.batch_search import BatchSearch  # noqa: PLC0415  numba loads on the first bulk operation

    search: BatchSearch | None = None
    while True:
        for columns in scan(log, position):
            if len(columns):
                yield columns
            position = columns.next_position
        if position >= log.size:
            return
        search = search or BatchSearch(log)
        found = search.find(position + 1)
        yield DamagedBytes(position, log.size if found < 0 else found)
        if found < 0:
            return
        position = found
