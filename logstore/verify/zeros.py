"""Runs of zeros in a file, as long as a preallocated segment: what was never written is not read either."""

import errno
import os
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

PIECE: Final = 1 << 20
"""Bytes that are looked at at once."""


def end_of_zeros(data: NDArray[np.uint8], start: int, path: Path) -> int:
    """Return the position of the first byte from `start` on that is not zero, or the end of `data`.

    `data` is the content of the file `path`. Its holes are passed over, where the file system tells of them.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:  # gone since it was mapped
        return _end_of_zeros(data, start, -1)
    try:
        return _end_of_zeros(data, start, descriptor)
    finally:
        os.close(descriptor)


def _end_of_zeros(data: NDArray[np.uint8], start: int, descriptor: int) -> int:
    end = len(data)
    while start < end:
        piece = data[start : start + PIECE]
        if piece.any():
            return start + int(np.argmax(piece != 0))
        start = _after_hole(descriptor, min(start + PIECE, end), end)
    return end


def _after_hole(descriptor: int, start: int, end: int) -> int:
    """Return where the file's data goes on at or after `start`."""
    if descriptor < 0 or not hasattr(os, "SEEK_DATA"):
        return start
    try:
        return min(os.lseek(descriptor, start, os.SEEK_DATA), end)
    except OSError as error:
        return end if error.errno == errno.ENXIO else start
