"""CRC-32C of a range of bytes, by the fastest kernel of the CPU that numba compiles for."""

from collections.abc import Callable

import numpy as np

from epoch.compiling.kernel import COMPILES, borrowed, inlined, kernel
from epoch.compiling.shipped_code import shipped
from logstore import checksum
from logstore.kernels.bytes import Data, little_endian_uint64
from logstore.kernels.polynomial import byte_tables

Kernel = Callable[[Data, int, int], int]

ALL_ONES = np.uint64(0xFFFF_FFFF)
"""A CRC-32C starts as this and is inverted at its end."""

BYTE = np.uint64(0xFF)
TABLES = byte_tables(16)


@inlined
def look_up(word: np.uint64, following: int) -> np.uint64:
    """Remainder of eight bytes that `following` more bytes follow."""
    return np.uint64(
        TABLES[following + 7, word & BYTE]
        ^ TABLES[following + 6, word >> np.uint64(8) & BYTE]
        ^ TABLES[following + 5, word >> np.uint64(16) & BYTE]
        ^ TABLES[following + 4, word >> np.uint64(24) & BYTE]
        ^ TABLES[following + 3, word >> np.uint64(32) & BYTE]
        ^ TABLES[following + 2, word >> np.uint64(40) & BYTE]
        ^ TABLES[following + 1, word >> np.uint64(48) & BYTE]
        ^ TABLES[following, word >> np.uint64(56)]
    )


@kernel
def crc32c_table(data: Data, start: int, end: int) -> int:
    """Slice by 16 bytes: any CPU."""
    data = borrowed(data)
    crc = ALL_ONES
    position = start
    while end - position >= 16:
        first = little_endian_uint64(data, position) ^ crc
        crc = look_up(first, 8) ^ look_up(little_endian_uint64(data, position + 8), 0)
        position += 16
    while position < end:
        crc = np.uint64(TABLES[0, (crc ^ np.uint64(data[np.uint64(position)])) & BYTE]) ^ crc >> np.uint64(8)
        position += 1
    return int(np.int64(crc ^ ALL_ONES))


def crc32c_package(data: Data, start: int, end: int) -> int:
    """Leave it to the crc32c package: without compilation a kernel is a thousand times slower."""
    return checksum.crc32c(data[start:end].data)


def _by_instructions() -> dict[str, tuple[Kernel, frozenset[str]]]:
    if not COMPILES:
        return {}
    from logstore.kernels.crc_instructions import KERNELS  # it needs numba

    return KERNELS


KERNELS: dict[str, tuple[Kernel, frozenset[str]]] = {**_by_instructions(), "table": (crc32c_table, frozenset())}
"""Each kernel with the target features that it needs, fastest first."""


def target_features() -> frozenset[str]:
    """Name what the machine code may use, NUMBA_CPU_NAME and NUMBA_CPU_FEATURES respected; empty if not x86-64."""
    from numba.core.registry import cpu_target

    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    if not triple.startswith("x86_64"):
        return frozenset()
    return frozenset(name[1:] for name in features.split(",") if name.startswith("+"))


def _shipped() -> dict[str, Kernel]:
    """Return the one that came with the installation, for this processor."""
    found = {name.rpartition(".")[2]: codes[0] for name, codes in shipped().items()}
    return {name: code for name, code in found.items() if name.startswith("crc32c_")}


def available() -> dict[str, Kernel]:
    """Kernels that are, or can be, compiled here, fastest first."""
    if not COMPILES:
        return _shipped() or {"crc32c package": crc32c_package}
    features = target_features()
    return {name: function for name, (function, needs) in KERNELS.items() if needs <= features}


NAME, crc32c = next(iter(available().items()))
"""The kernel in use: its name, and `crc32c(data, start, end)`, the CRC-32C of `data[start:end]`."""
