"""One entry of an index file that another process may write, found in few reads: it may be preallocated, and large."""

import os
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from struct import Struct


def last_entry(index: Path, slot: Struct, is_beyond: Callable[[int, int], bool]) -> tuple[int, int] | None:
    """Find the last entry before those that are beyond, as are free slots, of two zeros. Raises OSError."""
    with open(index, "rb", buffering=0) as file:

        def entry(number: int) -> tuple[int, int]:
            data = os.pread(file.fileno(), slot.size, number * slot.size)
            return slot.unpack(data) if len(data) == slot.size else (0, 0)  # a free one: it was cut meanwhile

        slots = range(os.fstat(file.fileno()).st_size // slot.size)
        beyond = bisect_left(slots, True, key=lambda number: is_beyond(*entry(number)))
        return entry(beyond - 1) if beyond else None
