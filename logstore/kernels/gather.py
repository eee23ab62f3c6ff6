"""Gather pieces of bytes that lie scattered into one buffer, as columns of binary values have them (Arrow's layout)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, kernel
from logstore.kernels.bytes import Data, varint
from logstore.kernels.copy import copy
from logstore.kernels.data import read_only

MOST_BYTES = 2**31 - 1
"""Of all values of one column: ends are counted with 32 bits."""


class Gathered(NamedTuple):
    """Values one behind the other, without gaps."""

    ends: NDArray[np.int32]
    """Where each value ends, and a 0 before the first: one more than there are values."""
    values: Data


class GatheredHeaders(NamedTuple):
    """The headers of records, one row a header."""

    keys: Gathered
    values: Gathered
    is_there: NDArray[np.bool_]
    """Whether a header has a value: false for null."""


def gather(data: Data, starts: NDArray[np.int64], lengths: NDArray[np.int32]) -> Gathered:
    """Copy the pieces of `data` that begin at `starts`; a negative length is that of a null, which takes no bytes.

    Raises ValueError where they take more than MOST_BYTES.
    """
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.maximum(lengths, 0), out=ends[1:])
    values = _room(int(ends[-1]))
    copy_pieces(read_only(data), np.ascontiguousarray(starts), ends, values)
    return Gathered(ends.astype(np.int32), values)


def measure_headers(
    data: Data, headers_start: NDArray[np.int64], header_count: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many bytes `gather_headers` copies for each record: of keys, and of values."""
    keys, values = np.zeros((2, len(header_count)), np.int64)
    sum_headers(read_only(data), np.ascontiguousarray(headers_start), np.ascontiguousarray(header_count), keys, values)
    return keys, values


def gather_headers(data: Data, headers_start: NDArray[np.int64], header_count: NDArray[np.int32]) -> GatheredHeaders:
    """Copy keys and values of the headers of records that were decoded from `data`, and so are known to be sound.

    Raises ValueError as `gather` does.
    """
    sizes = measure_headers(data, headers_start, header_count)
    count = int(header_count.sum(dtype=np.int64))
    keys, values = (Gathered(np.zeros(count + 1, np.int32), _room(int(size.sum()))) for size in sizes)
    is_there = np.empty(count, np.bool_)
    starts, counts = np.ascontiguousarray(headers_start), np.ascontiguousarray(header_count)
    copy_headers(read_only(data), starts, counts, *keys, *values, is_there)
    return GatheredHeaders(keys, values, is_there)


def _room(size: int) -> NDArray[np.uint8]:
    if size > MOST_BYTES:
        raise ValueError(f"{size:,} bytes of values are more than one column takes; gather fewer rows at once")
    return np.empty(size, np.uint8)


@kernel
def copy_pieces(data: Data, starts: NDArray[np.int64], ends: NDArray[np.int64], values: Data) -> None:
    """Copy each piece to where its value goes."""
    data = borrowed(data)
    for row in range(starts.size):
        length = ends[row + 1] - ends[row]
        if length > 0:
            copy(values, ends[row], data, starts[row], length)


@kernel
def sum_headers(
    data: Data,
    headers_start: NDArray[np.int64],
    header_count: NDArray[np.int32],
    keys: NDArray[np.int64],
    values: NDArray[np.int64],
) -> None:
    """Walk over each record's headers; no number is checked, as decoding has done so."""
    data = borrowed(data)
    for row in range(headers_start.size):
        position = headers_start[row]
        for _ in range(header_count[row]):
            length, position = varint(data, position, data.size)
            keys[row] += length
            length, position = varint(data, position + length, data.size)
            values[row] += max(length, 0)
            position += max(length, 0)


@kernel
def copy_headers(
    data: Data,
    headers_start: NDArray[np.int64],
    header_count: NDArray[np.int32],
    key_ends: NDArray[np.int32],
    keys: Data,
    value_ends: NDArray[np.int32],
    values: Data,
    is_there: NDArray[np.bool_],
) -> None:
    """Copy keys and values of each record's headers to where they go; there must be room for them."""
    data = borrowed(data)
    header = key_end = value_end = 0
    for row in range(headers_start.size):
        position = headers_start[row]
        for _ in range(header_count[row]):
            length, position = varint(data, position, data.size)
            copy(keys, key_end, data, position, length)
            key_end += length
            length, position = varint(data, position + length, data.size)
            is_there[header] = length >= 0
            length = max(length, 0)
            copy(values, value_end, data, position, length)
            value_end += length
            position += length
            header += 1
            key_ends[header] = key_end
            value_ends[header] = value_end
