"""Big-endian integers and varints in byte arrays: helpers that are compiled into the kernels.

Indices are unsigned inside, because numba lets a signed index count from the end and pays for it at each access.
LLVM merges the shifted bytes into one load and byte swap. Fixed-size loads trust the caller to have checked bounds.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.kernel import inlined

Data = NDArray[np.uint8]


@inlined
def byte(data: Data, position: int) -> np.int64:
    """Load one byte, 0 to 255."""
    return np.int64(data[np.uint64(position)])


@inlined
def int8(data: Data, position: int) -> np.int64:
    """Load one signed byte."""
    return np.int64(np.int8(data[np.uint64(position)]))


@inlined
def int16(data: Data, position: int) -> np.int64:
    """Load a signed big-endian 16-bit integer."""
    p = np.uint64(position)
    return np.int64(np.int8(data[p])) << 8 | np.int64(data[p + np.uint64(1)])


@inlined
def uint32(data: Data, position: int) -> np.int64:
    """Load an unsigned big-endian 32-bit integer."""
    p = np.uint64(position)
    return (
        np.int64(data[p]) << 24
        | np.int64(data[p + np.uint64(1)]) << 16
        | np.int64(data[p + np.uint64(2)]) << 8
        | np.int64(data[p + np.uint64(3)])
    )


@inlined
def int32(data: Data, position: int) -> np.int64:
    """Load a signed big-endian 32-bit integer."""
    return uint32(data, position) << 32 >> 32


@inlined
def int64(data: Data, position: int) -> np.int64:
    """Load a signed big-endian 64-bit integer."""
    p = np.uint64(position)
    return (
        np.int64(data[p]) << 56
        | np.int64(data[p + np.uint64(1)]) << 48
        | np.int64(data[p + np.uint64(2)]) << 40
        | np.int64(data[p + np.uint64(3)]) << 32
        | np.int64(data[p + np.uint64(4)]) << 24
        | np.int64(data[p + np.uint64(5)]) << 16
        | np.int64(data[p + np.uint64(6)]) << 8
        | np.int64(data[p + np.uint64(7)])
    )
