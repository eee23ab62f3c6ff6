"""Holes of a file: zeros that were never written, be there a terabyte of them, are not read either."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

PIECE: Final = 1 << 20
"""Bytes that are looked at at once."""


def end_of_zeros(data: NDArray[np.uint8], start: int, path: Path | None) -> int:
    """Return the position of the first byte from `start` on that is not zero, or the end of `data`.

    `data` is the content of the file `path`. Its holes are passed over, where the file system reports them.
    """
    end = len(data)
    with _opened(path) as descriptor:
        while start < end:
            piece = data[start : start + PIECE]
            if piece.any():
                return start + int(np.argmax(piece != 0))
            start = _after_hole(descriptor, min(start + PIECE, end), end)
    return end


def written_ranges(path: Path | None, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the file holds data within [start, end), which may be zeros too; one range where that is unknown."""
    with _opened(path) as descriptor:
        while (start := _after_hole(descriptor, start, end)) < end:
            stop = _next_hole(descriptor, start, end)
            yield start, stop
            start = stop


@contextmanager
def _opened(path: Path | None) -> Iterator[int]:
    """Open the file whose holes are looked up; -1 where there is none, or the system reports no holes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if path and hasattr(os, "SEEK_DATA") else -1
    except OSError:  # gone since it was mapped
        descriptor = -1
    try:
        yield descriptor
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _after_hole(descriptor: int, start: int, end: int) -> int:
    """Return where the file's data goes on at or after `start`."""
    if descriptor < 0:
        return start
    try:
        return min(os.lseek(descriptor, start, os.SEEK_DATA), end)
    except OSError as error:
        return end if error.errno == errno.ENXIO else start


def _next_hole(descriptor: int, start: int, end: int) -> int:
    """Return where the file's data that begins at `start` ends."""
    if descriptor < 0:
        return end
    try:
        return min(os.lseek(descriptor, start, os.SEEK_HOLE), end)
    except OSError:
        return end
