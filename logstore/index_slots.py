"""What offset and time indexes share: fixed slots, preallocated with zeros while a segment is active."""

import mmap
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from logstore.errors import CorruptIndexError

MAX_INDEX_BYTES: Final = 2**31 - 1
"""Kafka maps an index with 32-bit positions."""
_CHUNK: Final = 1 << 16


def read_slots(path: Path, dtype: np.dtype[np.void]) -> tuple[NDArray[np.void], int]:
    """Map an index file; return all its whole slots, and how many odd bytes follow them."""
    with open(path, "rb") as file:
        try:
            mapping: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file cannot be mapped
            mapping = b""
    return parse_slots(mapping, dtype, path)


def parse_slots(data: Any, dtype: np.dtype[np.void], path: Path | None) -> tuple[NDArray[np.void], int]:
    """View an index file's bytes as slots; return them and how many odd bytes follow."""
    if len(data) > MAX_INDEX_BYTES:
        raise CorruptIndexError(
            f"{len(data):,} bytes are no index", file=path, advice="remove it, and Kafka builds it again from the log"
        )
    slots, odd_bytes = divmod(len(data), dtype.itemsize)
    return np.frombuffer(data, dtype, slots), odd_bytes


def count_entries(slots: NDArray[np.void]) -> int:
    """Count the slots up to the last one that is not all zeros: what follows was only preallocated.

    No real entry is all zeros: none is made for a segment's first batch, at position 0, nor for timestamp 0 at it.
    """
    size = slots.dtype.itemsize
    raw = slots.view(np.uint8)
    for end in range(len(slots), 0, -_CHUNK):
        start = max(0, end - _CHUNK)
        used = np.flatnonzero(raw[start * size : end * size])
        if len(used):
            return start + int(used[-1]) // size + 1
    return 0
