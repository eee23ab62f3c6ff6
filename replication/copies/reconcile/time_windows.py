"""When the offsets of a log were written: windows of time, by the timestamps of its batches."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify.log_pieces import DamagedBytes, read_pieces
from replication.copies.explain.offset_ranges import split
from replication.copies.explain.table_rows import Rows

NO_WINDOW: Final = -(2**63)
"""Stands for a window that is not known."""


class BatchTimes(NamedTuple):
    """The batches of a log, by offset, as columns."""

    base_offset: NDArray[np.int64]
    max_timestamp: NDArray[np.int64]
    """Milliseconds since 1970 UTC; below 0 where the batch has none."""


def batch_times(copy: PartitionDirectory) -> BatchTimes:
    """Read the headers of a copy's batches. Raises OSError."""
    bases, times = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for segment in copy.segments:
        with segment.open_log() as file:
            for found in read_pieces(file, lambda log, at: log.scan(at, check_crc=False)):
                if not isinstance(found, DamagedBytes):
                    bases.append(found.base_offset.copy())
                    times.append(found.max_timestamp.copy())
    base = np.concatenate(bases)
    order = np.argsort(base, kind="stable")
    return BatchTimes(base[order], np.concatenate(times)[order])


def by_window(rows: Rows, times: BatchTimes, end: int, width: int) -> tuple[Rows, NDArray[np.int64]]:
    """Cut rows where another window begins, and return of each when its window does, in milliseconds.

    An offset is of the window of the batch that has it, or of the one before it. At the log's `end` and beyond, below
    its first batch, and where a batch has no timestamp, it is of NO_WINDOW. Windows are `width` milliseconds long.
    """
    window = np.where(times.max_timestamp >= 0, times.max_timestamp // width * width, NO_WINDOW)
    begins = np.append(True, window[1:] != window[:-1])[: len(window)]
    window, first = window[begins], times.base_offset[begins]
    last = np.maximum(np.append(first[1:], end)[: len(first)] - 1, first - 1)
    cut, number = split(rows, first, last)
    return cut, np.append(window, NO_WINDOW)[number]
