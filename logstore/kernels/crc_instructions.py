"""CRC-32C by the instructions that x86-64 has for it, each kernel for the CPUs that have them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, inlined, kernel
from logstore.kernels.bytes import Data, little_endian_uint64
from logstore.kernels.polynomial import folding_constants, shift_tables
from logstore.kernels.prefetch import prefetch
from logstore.kernels.vectors import add_first, crc32_uint8, crc32_uint64, element, fold, lane, load, repeat

ALL_ONES = np.uint64(0xFFFF_FFFF)
"""A CRC-32C starts as this and is inverted at its end."""

BYTE = np.uint64(0xFF)

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


KERNELS: dict[str, tuple[Callable[[Data, int, int], int], frozenset[str]]] = {
    "512-bit carry-less multiply": (crc32c_512, frozenset({"avx512f", "vpclmulqdq", "pclmul", "sse4.2"})),
    "256-bit carry-less multiply": (crc32c_256, frozenset({"avx2", "vpclmulqdq", "pclmul", "sse4.2"})),
    "CRC instruction in three lanes": (crc32c_lanes, frozenset({"sse4.2"})),
}
"""Each kernel with the target features that it needs, fastest first."""
