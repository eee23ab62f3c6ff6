"""What the batches say that recovery drops: how many records they hold, and where they end."""

from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from logstore.batch.columns import StopReason
from logstore.offline.batch_scan import scan_batches
from logstore.recovery.dropped_tail import DroppedTail

_MOST_COUNTED: Final = 64 << 20
"""Bytes that are read for it: the broker starts no earlier."""
_COMPLETE: Final = frozenset({StopReason.END, StopReason.TORN})
"""How a walk ends that has seen all whole batches."""


def dropped_tail(path: Path, position: int, reason: str, end: int | None = None) -> DroppedTail:
    """Report what a segment's file has from a position on, before it is cut there. Raises OSError if it is missing.

    `end` is where that ends, if not with the file.

    A file that cannot be read is to go all the same: then nothing is counted, nor where there are more than 64 MiB.
    """
    size = path.stat().st_size if end is None else end
    records, end_offset = None, None
    if size - position <= _MOST_COUNTED:
        with suppress(OSError):
            records, end_offset = _counted(_tail(path, position, size))
    return DroppedTail(path.name, position, size - position, reason, records, end_offset)


def _tail(path: Path, position: int, end: int) -> memoryview:
    """Read it, and do not map it: a sector that cannot be read would be a signal there, which ends the process."""
    with path.open("rb") as file:
        file.seek(position)
        return memoryview(file.read(end - position))


def _counted(tail: memoryview) -> tuple[int | None, int | None]:
    """Go by the headers, as far as one leads to the next: one of them is damaged, and may claim too much."""
    records, end_offset, stop = 0, None, StopReason.END
    for columns in scan_batches(tail, 0, check_crc=False):
        stop = columns.stop
        if len(columns):
            counts = np.minimum(columns.record_count, columns.last_offset - columns.base_offset + 1)
            records += int(counts.sum())
            end_offset = int(columns.base_offset[-1] + counts[-1])
    return records if records or stop in _COMPLETE else None, end_offset
