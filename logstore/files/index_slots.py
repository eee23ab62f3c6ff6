"""What offset and time indexes share: fixed slots, preallocated with zeros while a segment is active."""

import os
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from epoch.base.resource_limits import NamingLimits, read_up_to
from logstore.errors import CorruptIndexError

OFFSET_SLOT: Final[np.dtype[np.void]] = np.dtype([("relative_offset", ">i4"), ("position", ">i4")])
"""An entry of a `.index` file."""
TIME_SLOT: Final[np.dtype[np.void]] = np.dtype([("timestamp", ">i8"), ("relative_offset", ">i4")])
"""An entry of a `.timeindex` file."""
MAX_RELATIVE_OFFSET: Final = 2**31 - 1
"""What a slot can hold: an offset less its segment's first."""
MAX_INDEX_BYTES: Final = 512 << 20
"""More than any index takes: a segment of 2 GiB holds at most 35 million batches, with one entry of 12 bytes each."""
_CHUNK: Final = 1 << 16


def read_index(path: Path) -> bytes:
    """Read an index file whole, not mapped: a broker trims the index of its active segment at any time."""
    with NamingLimits(path), open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        _check_size(size, path)
        return read_up_to(file, size)


def parse_slots(data: bytes | memoryview, dtype: np.dtype[np.void], path: Path | None) -> tuple[NDArray[np.void], int]:
    """View an index file's bytes as slots; return them and how many odd bytes follow."""
    _check_size(len(data), path)
    slots, odd_bytes = divmod(len(data), dtype.itemsize)
    return np.frombuffer(data, dtype, slots), odd_bytes


def count_entries(slots: NDArray[np.void]) -> int:
    """Count the slots up to the last one that is not all zeros: what follows was only preallocated.

    An offset index has no such entry: none is made for a segment's first batch, at position 0. In a time index it is
    that of timestamp 0 at the segment's first offset, made for a segment of one record. Among several slots it is not
    distinguished from a free one: to leave it out only makes a lookup begin at the segment's start, where it would lead
    as well.
    """
    size = slots.dtype.itemsize
    raw = slots.view(np.uint8)
    for end in range(len(slots), 0, -_CHUNK):
        start = max(0, end - _CHUNK)
        used = raw[start * size : end * size].nonzero()[0]
        if len(used):
            return start + int(used[-1]) // size + 1
    return 0


def _check_size(size: int, path: Path | None) -> None:
    if size > MAX_INDEX_BYTES:
        raise CorruptIndexError(
            f"more than {MAX_INDEX_BYTES:,} bytes are too many for an index",
            file=path,
            advice="remove it, and Kafka builds it again from the log",
        )
