"""Write characters into a byte buffer: numbers, escapes, base64. The caller knows that there is room.

Escapes are stored eight bytes at a time, of which only the first ones count: a buffer is eight bytes longer than what
is written to it.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import inlined, kernel
from logstore.kernels.bytes import Data, byte

Buffer = NDArray[np.uint8]

STORE = 8
"""Bytes that a store may touch, however few of them count."""
DIGITS = 20
"""Characters of the longest 64-bit integer, its sign included."""

BASE64 = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
TENS = np.array([10**exponent for exponent in range(1, 20)], np.uint64)
QUOTE, MINUS, ZERO, PADDING = (np.uint8(ord(character)) for character in '"-0=')


@inlined
def put(out: Buffer, at: int, literal: Data) -> int:
    """Write bytes as they are."""
    for i in range(literal.size):
        out[np.uint64(at + i)] = literal[np.uint64(i)]
    return at + literal.size


@inlined
def put_number(out: Buffer, at: int, value: int) -> int:
    """Write an integer in decimal."""
    rest = np.uint64(np.int64(value))
    if value < 0:
        out[np.uint64(at)] = MINUS
        at += 1
        rest = np.uint64(0) - rest
    digits = 1
    while digits < DIGITS and rest >= TENS[np.uint64(digits - 1)]:
        digits += 1
    for i in range(at + digits - 1, at - 1, -1):
        out[np.uint64(i)] = ZERO + np.uint8(rest % np.uint64(10))
        rest //= np.uint64(10)
    return at + digits


@inlined
def put_escaped(
    out: Buffer, at: int, data: Data, start: int, end: int, words: NDArray[np.uint64], lengths: NDArray[np.int64]
) -> int:
    """Write each byte as its escape, without a branch: what they are is anybody's guess."""
    for i in range(start, end):
        value = data[np.uint64(i)]
        store(out, at, words[value])
        at += lengths[value]
    return at


@inlined
def store(out: Buffer, at: int, word: np.uint64) -> None:
    """Store eight bytes, the lowest first; LLVM merges them into one store."""
    p = np.uint64(at)
    out[p] = np.uint8(word & np.uint64(0xFF))
    out[p + np.uint64(1)] = np.uint8(word >> np.uint64(8) & np.uint64(0xFF))
    out[p + np.uint64(2)] = np.uint8(word >> np.uint64(16) & np.uint64(0xFF))
    out[p + np.uint64(3)] = np.uint8(word >> np.uint64(24) & np.uint64(0xFF))
    out[p + np.uint64(4)] = np.uint8(word >> np.uint64(32) & np.uint64(0xFF))
    out[p + np.uint64(5)] = np.uint8(word >> np.uint64(40) & np.uint64(0xFF))
    out[p + np.uint64(6)] = np.uint8(word >> np.uint64(48) & np.uint64(0xFF))
    out[p + np.uint64(7)] = np.uint8(word >> np.uint64(56))


@kernel
def is_utf8(data: Data, start: int, end: int) -> bool:
    """Whether the bytes are UTF-8: no overlong form, no surrogate, nothing beyond U+10FFFF."""
    position = start
    while position < end:
        first = byte(data, position)
        position += 1
        if first < 0x80:
            continue
        if first < 0xC2 or first > 0xF4:
            return False
        following = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        if following > end - position:
            return False
        low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
        high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
        for _ in range(following):
            value = byte(data, position)
            if value < low or value > high:
                return False
            low, high = 0x80, 0xBF
            position += 1
    return True


@kernel
def put_base64(out: Buffer, at: int, data: Data, start: int, end: int) -> int:
    """Write bytes in base64, and the closing quote."""
    while start < end:
        left = end - start
        group = byte(data, start) << 16
        group |= byte(data, start + 1) << 8 if left > 1 else 0
        group |= byte(data, start + 2) if left > 2 else 0
        p = np.uint64(at)
        out[p] = BASE64[group >> 18]
        out[p + np.uint64(1)] = BASE64[group >> 12 & 0x3F]
        out[p + np.uint64(2)] = BASE64[group >> 6 & 0x3F] if left > 1 else PADDING
        out[p + np.uint64(3)] = BASE64[group & 0x3F] if left > 2 else PADDING
        at += 4
        start += 3
    out[np.uint64(at)] = QUOTE
    return at + 1
