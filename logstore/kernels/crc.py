"""CRC-32C of a range of bytes, by the fastest kernel of the CPU that numba compiles for."""

from collections.abc import Callable

import numpy as np
from numba import config
from numba.core.registry import cpu_target
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, inlined, kernel
from logstore.batch import checksum
from logstore.kernels.bytes import Data, little_endian_uint64
from logstore.kernels.polynomial import byte_tables, folding_constants, shift_tables
from logstore.kernels.prefetch import prefetch
from logstore.kernels.vectors import add_first, crc32_uint8, crc32_uint64, element, fold, lane, load, repeat

Kernel = Callable[[Data, int, int], int]

ALL_ONES = np.uint64(0xFFFF_FFFF)
"""A CRC-32C starts as this and is inverted at its end."""

BYTE = np.uint64(0xFF)
TABLES = byte_tables(16)

PAGE = 4096
"""Bytes by which memory is asked ahead: the CPU's own prefetching stops at the end of each page."""
PAGE_START = 256
"""Bytes of each page that are asked for two pages ahead, so that its address is known in time."""

LANE = 336
"""Bytes of each of three parallel lanes. From 512 on the lanes fight over DRAM pages: a third of the speed."""
OVER_ONE_LANE, OVER_TWO_LANES = shift_tables(LANE), shift_tables(2 * LANE)

FOLD_128, FOLD_256, FOLD_512 = folding_constants(128), folding_constants(256), folding_constants(512)
FOLD_1024, FOLD_2048 = folding_constants(1024), folding_constants(2048)


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


@inlined
def one_stream(data: Data, position: int, end: int, crc: np.uint64) -> int:
    """Finish a CRC with the CRC instruction, eight bytes at a time: what is left after the wide part."""
    while end - position >= 8:
        crc = crc32_uint64(crc, little_endian_uint64(data, position))
        position += 8
    while position < end:
        crc = crc32_uint8(crc, data[np.uint64(position)])
        position += 1
    return int(np.int64(crc ^ ALL_ONES))


@inlined
def shift(crc: np.uint64, tables: NDArray[np.uint32]) -> np.uint64:
    """Move a CRC over the zero bytes that the tables were made for."""
    return np.uint64(
        tables[0, crc & BYTE]
        ^ tables[1, crc >> np.uint64(8) & BYTE]
        ^ tables[2, crc >> np.uint64(16) & BYTE]
        ^ tables[3, crc >> np.uint64(24) & BYTE]
    )


@kernel
def crc32c_lanes(data: Data, start: int, end: int) -> int:
    """Run three CRC instructions at once, which hides their latency: SSE 4.2."""
    data = borrowed(data)
    crc = ALL_ONES
    position = start
    while end - position >= 3 * LANE:
        second, third = np.uint64(0), np.uint64(0)
        for i in range(position, position + LANE, 8):
            crc = crc32_uint64(crc, little_endian_uint64(data, i))
            second = crc32_uint64(second, little_endian_uint64(data, i + LANE))
            third = crc32_uint64(third, little_endian_uint64(data, i + 2 * LANE))
        crc = shift(crc, OVER_TWO_LANES) ^ shift(second, OVER_ONE_LANE) ^ third
        position += 3 * LANE
    return one_stream(data, position, end, crc)


@inlined
def ask_ahead(data: Data, position: int) -> None:
    """Prefetch 128 bytes into the cache."""
    prefetch(data, position + PAGE)
    prefetch(data, position + PAGE + 64)
    if position & PAGE - 1 < PAGE_START:
        prefetch(data, position + 2 * PAGE)
        prefetch(data, position + 2 * PAGE + 64)


@kernel
def crc32c_256(data: Data, start: int, end: int) -> int:
    """Fold four vectors of 256 bits by carry-less multiplication: AVX2 with VPCLMULQDQ."""
    data = borrowed(data)
    if end - start < 128:
        return one_stream(data, start, end, ALL_ONES)
    ask_ahead(data, start)
    a = add_first(load(data, start, 4), ALL_ONES)
    b, c, d = load(data, start + 32, 4), load(data, start + 64, 4), load(data, start + 96, 4)
    position = start + 128
    by_1024 = repeat(FOLD_1024[0], FOLD_1024[1], 4)
    while end - position >= 128:
        ask_ahead(data, position)
        a = fold(a, by_1024, load(data, position, 4))
        b = fold(b, by_1024, load(data, position + 32, 4))
        c = fold(c, by_1024, load(data, position + 64, 4))
        d = fold(d, by_1024, load(data, position + 96, 4))
        position += 128
    by_256 = repeat(FOLD_256[0], FOLD_256[1], 4)
    d = fold(fold(fold(a, by_256, b), by_256, c), by_256, d)
    by_128 = repeat(FOLD_128[0], FOLD_128[1], 2)
    last = fold(lane(d, 0), by_128, lane(d, 1))
    crc = crc32_uint64(crc32_uint64(np.uint64(0), element(last, 0)), element(last, 1))
    return one_stream(data, position, end, crc)


@kernel
def crc32c_512(data: Data, start: int, end: int) -> int:
    """Fold four vectors of 512 bits by carry-less multiplication: AVX-512 with VPCLMULQDQ."""
    data = borrowed(data)
    if end - start < 256:
        return one_stream(data, start, end, ALL_ONES)
    ask_ahead(data, start)
    ask_ahead(data, start + 128)
    a = add_first(load(data, start, 8), ALL_ONES)
    b, c, d = load(data, start + 64, 8), load(data, start + 128, 8), load(data, start + 192, 8)
    position = start + 256
    by_2048 = repeat(FOLD_2048[0], FOLD_2048[1], 8)
    while end - position >= 256:
        ask_ahead(data, position)
        ask_ahead(data, position + 128)
        a = fold(a, by_2048, load(data, position, 8))
        b = fold(b, by_2048, load(data, position + 64, 8))
        c = fold(c, by_2048, load(data, position + 128, 8))
        d = fold(d, by_2048, load(data, position + 192, 8))
        position += 256
    by_512 = repeat(FOLD_512[0], FOLD_512[1], 8)
    d = fold(fold(fold(a, by_512, b), by_512, c), by_512, d)
    while end - position >= 64:
        d = fold(d, by_512, load(data, position, 8))
        position += 64
    by_128 = repeat(FOLD_128[0], FOLD_128[1], 2)
    last = fold(fold(lane(d, 0), by_128, lane(d, 1)), by_128, lane(d, 2))
    last = fold(last, by_128, lane(d, 3))
    crc = crc32_uint64(crc32_uint64(np.uint64(0), element(last, 0)), element(last, 1))
    return one_stream(data, position, end, crc)


def crc32c_package(data: Data, start: int, end: int) -> int:
    """Leave it to the crc32c package: without compilation a kernel is a thousand times slower."""
    return checksum.crc32c(data[start:end].data)


KERNELS: dict[str, tuple[Kernel, frozenset[str]]] = {
    "512-bit carry-less multiply": (crc32c_512, frozenset({"avx512f", "vpclmulqdq", "pclmul", "sse4.2"})),
    "256-bit carry-less multiply": (crc32c_256, frozenset({"avx2", "vpclmulqdq", "pclmul", "sse4.2"})),
    "CRC instruction in three lanes": (crc32c_lanes, frozenset({"sse4.2"})),
    "table": (crc32c_table, frozenset()),
}
"""Each kernel with the target features that it needs, fastest first."""


def target_features() -> frozenset[str]:
    """Name what the machine code may use, NUMBA_CPU_NAME and NUMBA_CPU_FEATURES respected; empty if not x86-64."""
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    if not triple.startswith("x86_64"):
        return frozenset()
    return frozenset(name[1:] for name in features.split(",") if name.startswith("+"))


def available() -> dict[str, Kernel]:
    """Kernels that can be compiled here, fastest first."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set while numba is imported
        return {"crc32c package": crc32c_package}
    features = target_features()
    return {name: function for name, (function, needs) in KERNELS.items() if needs <= features}


NAME, crc32c = next(iter(available().items()))
"""The kernel in use: its name, and `crc32c(data, start, end)`, the CRC-32C of `data[start:end]`."""
