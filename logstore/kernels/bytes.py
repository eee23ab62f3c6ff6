"""Big-endian integers and varints in byte arrays: helpers that are compiled into the kernels.

Indices are unsigned inside, because numba lets a signed index count from the end and pays for it at each access.
LLVM merges the shifted bytes into one load and byte swap. Fixed-size loads trust the caller to have checked bounds.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.kernel import inlined

Data = NDArray[np.uint8]


@inlined
def byte(data: Data, position: int) -> int:
    """Load one byte, 0 to 255."""
    return int(np.int64(data[np.uint64(position)]))


@inlined
def int8(data: Data, position: int) -> int:
    """Load one signed byte."""
    return int(np.int64(np.int8(data[np.uint64(position)])))


@inlined
def int16(data: Data, position: int) -> int:
    """Load a signed big-endian 16-bit integer."""
    p = np.uint64(position)
    return int(np.int64(np.int8(data[p])) << 8 | np.int64(data[p + np.uint64(1)]))


@inlined
def uint32(data: Data, position: int) -> int:
    """Load an unsigned big-endian 32-bit integer."""
    p = np.uint64(position)
    return int(
        np.int64(data[p]) << 24
        | np.int64(data[p + np.uint64(1)]) << 16
        | np.int64(data[p + np.uint64(2)]) << 8
        | np.int64(data[p + np.uint64(3)])
    )


@inlined
def int32(data: Data, position: int) -> int:
    """Load a signed big-endian 32-bit integer."""
    return int(np.int64(uint32(data, position)) << 32 >> 32)


@inlined
def int64(data: Data, position: int) -> int:
    """Load a signed big-endian 64-bit integer."""
    p = np.uint64(position)
    return int(
        np.int64(data[p]) << 56
        | np.int64(data[p + np.uint64(1)]) << 48
        | np.int64(data[p + np.uint64(2)]) << 40
        | np.int64(data[p + np.uint64(3)]) << 32
        | np.int64(data[p + np.uint64(4)]) << 24
        | np.int64(data[p + np.uint64(5)]) << 16
        | np.int64(data[p + np.uint64(6)]) << 8
        | np.int64(data[p + np.uint64(7)])
    )


@inlined
def little_endian_uint64(data: Data, position: int) -> np.uint64:
    """Load an unsigned 64-bit integer as x86 does: the first byte is the lowest."""
    p = np.uint64(position)
    return (
        np.uint64(data[p])
        | np.uint64(data[p + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[p + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[p + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[p + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[p + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[p + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[p + np.uint64(7)]) << np.uint64(56)
    )


def read_only(data: Data) -> Data:
    """View the bytes as read-only, so that each kernel is compiled for one type of array only."""
    view = np.ascontiguousarray(data).view()
    view.flags.writeable = False
    return view
