"""What the batches say that recovery drops: how many records they hold, and where they end."""

from pathlib import Path

import numpy as np

from logstore.batch.columns import StopReason
from logstore.offline.header_scan import scan_headers
from logstore.recovery.recovery_report import DroppedTail

_COMPLETE = frozenset({StopReason.END, StopReason.TORN})
"""How a walk ends that has seen all whole batches."""


def dropped_tail(path: Path, position: int, reason: str) -> DroppedTail:
    """Report what a segment's file has from a position on, before it is cut there. Raises OSError if it is missing.

    A file that cannot be read is to go all the same: then nothing is counted.
    """
    size = path.stat().st_size
    try:
        records, end_offset = _counted(path, position)
    except OSError:
        records, end_offset = None, None
    return DroppedTail(path.name, position, size - position, reason, records, end_offset)


def _counted(path: Path, position: int) -> tuple[int | None, int | None]:
    """Go by the headers, as far as one leads to the next: one of them is damaged, and may claim too much."""
    records, end_offset, stop = 0, None, StopReason.END
    for columns in scan_headers(path, position):
        stop = columns.stop
        if len(columns):
            counts = np.minimum(columns.record_count, columns.last_offset - columns.base_offset + 1)
            records += int(counts.sum())
            end_offset = int(columns.base_offset[-1] + counts[-1])
    return records if records or stop in _COMPLETE else None, end_offset
