"""Arithmetic behind CRC-32C: polynomials over GF(2), modulo Castagnoli's, and the constants that kernels need.

A CRC is a remainder modulo the polynomial P of degree 32. Bytes go through it with the lowest bit first, so the
registers of a CRC hold polynomials reflected: the highest bit is the coefficient of x^0. Moving a part of the data
n bits away from the end of the message multiplies it by x^n, and modulo P that is a multiplication by a constant.
"""

import numpy as np
from numpy.typing import NDArray

CASTAGNOLI = 0x1EDC6F41
"""P without its leading x^32, the highest power in the highest bit."""


def reflect(value: int) -> int:
    """Reverse the order of 32 bits."""
    return int(f"{value:032b}"[::-1], 2)


def multiply(a: int, b: int) -> int:
    """Multiply two polynomials of degree below 32, modulo P."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        b >>= 1
        a <<= 1
        if a >> 32:
            a ^= 1 << 32 | CASTAGNOLI
    return product


def power_of_x(exponent: int) -> int:
    """x^exponent modulo P, by squaring."""
    power, square = 1, 2
    while exponent:
        if exponent & 1:
            power = multiply(power, square)
        square = multiply(square, square)
        exponent >>= 1
    return power


def folding_constants(bits: int) -> tuple[np.uint64, np.uint64]:
    """Give the multipliers that move the two 64-bit halves of a 128-bit lane `bits` further from the message's end.

    The first half precedes the second by 64 bits, so it is multiplied by x^(bits+64) and the second by x^bits. A
    constant of 32 bits in a 64-bit register counts as multiplied by x^32 already, and the product of two reflected
    registers comes out shifted by one bit, another x: hence 33 less in each exponent.
    """
    first, second = power_of_x(bits + 64 - 33), power_of_x(bits - 33)
    return np.uint64(reflect(first)), np.uint64(reflect(second))


def byte_tables(count: int) -> NDArray[np.uint32]:
    """Tables for slicing: row n holds the remainder of each byte value when n more bytes follow it."""
    tables = np.zeros((count, 256), np.uint32)
    for value in range(256):
        crc = value
        for _ in range(8):
            crc = crc >> 1 ^ (reflect(CASTAGNOLI) if crc & 1 else 0)
        tables[0, value] = crc
    for n in range(1, count):
        tables[n] = tables[n - 1] >> 8 ^ tables[0][tables[n - 1] & 0xFF]
    return tables


def shift_tables(length: int) -> NDArray[np.uint32]:
    """Tables that move a CRC over `length` zero bytes: row n holds the effect of each value of the CRC's byte n."""
    factor = power_of_x(8 * length)
    tables = np.zeros((4, 256), np.uint32)
    for bit in range(32):
        effect = np.uint32(reflect(multiply(reflect(1 << bit), factor)))
        table, lowest = tables[bit // 8], 1 << bit % 8
        # The effect of several bits is the sum of each one's.
        table[lowest : 2 * lowest] = table[:lowest] ^ effect
    return tables
