"""Big-endian integers and varints in byte arrays: helpers that are compiled into the kernels.

Indices are unsigned inside, because numba lets a signed index count from the end and pays for it at each access.
LLVM merges the shifted bytes into one load and byte swap. Fixed-size loads trust the caller to have checked bounds.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import inlined, kernel

Data = NDArray[np.uint8]

VARINT_BITS = 35
"""Five bytes of seven bits, for an integer of 32."""
VARLONG_BITS = 70
"""Ten bytes of seven bits, for an integer of 64."""


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


@inlined
def varint(data: Data, position: int, end: int) -> tuple[int, int]:
    """Read a zigzag varint of 32 bits before `end`: the value and the position behind it.

    A number that does not end before `end`, or takes more than five bytes, gives 0 and a position beyond `end`: as
    positions only grow, whoever compares the last position with `end` need not check each number.
    """
    if end - position >= 2:
        first = byte(data, position)
        if first < 0x80:
            return first >> 1 ^ -(first & 1), position + 1
        second = byte(data, position + 1)
        if second < 0x80:
            return (first & 0x7F | second << 7) >> 1 ^ -(first & 1), position + 2
    return long_varint(data, position, end, VARINT_BITS)


@inlined
def varlong(data: Data, position: int, end: int) -> tuple[int, int]:
    """Read a zigzag varint of 64 bits, at most ten bytes, as `varint` does."""
    if end - position >= 2:
        first = byte(data, position)
        if first < 0x80:
            return first >> 1 ^ -(first & 1), position + 1
        second = byte(data, position + 1)
        if second < 0x80:
            return (first & 0x7F | second << 7) >> 1 ^ -(first & 1), position + 2
    return long_varint(data, position, end, VARLONG_BITS)


@kernel
def long_varint(data: Data, position: int, end: int, bits: int) -> tuple[int, int]:
    """Read a zigzag varint of any length, seven bits a byte; bits beyond the type's are dropped, as Kafka does."""
    value = np.uint64(0)
    for shift in range(0, bits, 7):
        if position >= end:
            break
        current = data[np.uint64(position)]
        value |= np.uint64(current & 0x7F) << np.uint64(shift)
        position += 1
        if current < 0x80:
            if bits == VARINT_BITS:
                value &= np.uint64(0xFFFF_FFFF)
            return int(np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1))), position
    return 0, end + 1


@inlined
def wrapping_add(a: int, b: int) -> int:
    """Add as 64-bit integers do: damaged deltas wrap around, in Kafka too."""
    return int(np.int64(a) + np.int64(b))
