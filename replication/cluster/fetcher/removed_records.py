"""The records that a truncation will remove."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Self

import numpy as np

from logstore import Log, ReadView
from logstore.offline.batch_scan import scan_batches

READ_BYTES: Final = 16 << 20
"""How many bytes of a log are read or copied at once."""


class RemovedRecords(NamedTuple):
    """The batches of a log that reach an offset, or lie beyond it."""

    first_offset: int
    """Below the truncation offset if that lies within a batch."""
    records: int
    """Including control records."""
    bytes: int

    @classmethod
    def of(cls, log: Log, offset: int) -> Self:
        """Count what is removed when `log` is truncated to `offset`. Raises OSError."""
        return cls._counted(offset, batches_from(log, offset))

    @classmethod
    def within(cls, log: Log, offset: int, most_bytes: int) -> Self | None:
        """Count it up to so many bytes; None where it is more. At most about twice so many are read. Raises OSError."""
        views, size = [], 0
        for view in batches_from(log, offset, most_bytes):
            size += len(view)
            if size > most_bytes:
                return None
            views.append(view)
        return cls._counted(offset, views)

    @classmethod
    def _counted(cls, offset: int, views: Iterable[ReadView]) -> Self:
        first_offset, records, size = offset, 0, 0
        for view in views:
            for columns in scan_batches(view.data, 0, check_crc=False):
                if not size:
                    first_offset = min(offset, int(columns.base_offset[0]))
                records += int(columns.record_count.sum(dtype=np.int64))
                size += int(columns.size.sum())
        return cls(first_offset, records, size)


def batches_from(log: Log, offset: int, read_bytes: int = READ_BYTES) -> Iterator[ReadView]:
    """Yield the bytes of the batches that reach `offset` or lie beyond it, so many at once. Raises OSError."""
    # Up to where the log ends now: who truncates is the only one who writes.
    position, end = max(offset, log.log_start_offset), log.log_end_offset
    while position < end:
        view = log.read(position, read_bytes)
        if not len(view):
            return
        yield view
        position = _end_of(view)


def _end_of(view: ReadView) -> int:
    return max(int(columns.last_offset[-1]) for columns in scan_batches(view.data, 0, check_crc=False)) + 1
