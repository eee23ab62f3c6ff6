"""The entries of a large leader-epoch checkpoint, all at once: read to columns, and written from them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import numpy as np

from epoch.history import MAX_EPOCH, MAX_OFFSET

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIGITS: Final = b"0123456789"
_BLOCK: Final = 4_096
"""Entries that are written at a time: what numpy needs for them stays in the cache."""
_POWERS: Final = 10 ** np.arange(1, 19)


def rising_columns(data: bytes) -> tuple[array[int], array[int]] | None:
    """Read epochs and start offsets, both strictly rising, of a checkpoint that looks as Kafka writes it.

    None for any other bytes: whoever reads line by line forgives them, or reports what is wrong.
    """
    separators = data.translate(None, _DIGITS)
    count = len(separators) // 2 - 1
    if separators != b"\n\n" + count * b" \n":
        return None
    numbers = np.fromstring(data, np.int64, sep=" ")
    # There are fewer where a number is missing between separators.
    if len(numbers) != 2 + 2 * count or numbers[0] != 0 or numbers[1] != count:
        return None
    columns = array("q", bytes(8 * count)), array("q", bytes(8 * count))
    epochs, starts = (np.frombuffer(column, np.int64) for column in columns)
    epochs[:], starts[:] = numbers[2::2], numbers[3::2]
    # What is too large for 64 bits is read as the largest number.
    if not (_rises(epochs, MAX_EPOCH) and _rises(starts, MAX_OFFSET - 1)):
        return None
    # More digits than the numbers take are leading zeros.
    digits = _digits(numbers[:2]) + _digits(epochs) + _digits(starts)
    if digits != len(data) - len(separators):
        return None
    return columns


def format_columns(epochs: array[int], starts: array[int]) -> bytes:
    """Write epochs and start offsets, both strictly rising from 0 or above, as lines of a checkpoint."""
    blocks = range(0, len(epochs), _BLOCK)
    return b"".join(_format_block(epochs[first : first + _BLOCK], starts[first : first + _BLOCK]) for first in blocks)


def _format_block(epochs: array[int], starts: array[int]) -> bytes:
    numbers = np.empty(2 * len(epochs), np.uint64)
    numbers[::2], numbers[1::2] = epochs, starts
    most_digits = len(str(max(epochs[-1], starts[-1])))
    # A column of text for each number: its digits after zero bytes in place of leading zeros, and what separates it.
    text = np.zeros((most_digits + 1, len(numbers)), np.uint8)
    for place in range(most_digits - 1, -1, -1):
        rest = numbers // 10
        text[place] = (numbers - 10 * rest + ord("0")) * (numbers > 0)
        numbers = rest
    text[-2] |= ord("0")  # a zero that stands alone
    text[-1, ::2], text[-1, 1::2] = ord(" "), ord("\n")
    return text.T.tobytes().translate(None, b"\0")


def _rises(column: NDArray[np.int64], largest: int) -> bool:
    return bool((column[1:] > column[:-1]).all() and (column[-1:] <= largest).all())


def _digits(rising: NDArray[np.int64]) -> int:
    """Count the decimal digits of all numbers."""
    return len(rising) + int((len(rising) - np.searchsorted(rising, _POWERS)).sum())
