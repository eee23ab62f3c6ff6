"""Gather pieces of bytes that lie scattered into one buffer, as columns of binary values have them (Arrow's layout)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epoch.kernel import borrowed, kernel
from logstore.kernels.bytes import Data, read_only, varint
from logstore.kernels.copy import copy

MOST_BYTES = 2**31 - 1
"""Of all values of one column: ends are counted with 32 bits."""


class Gathered(NamedTuple):
    """Values one behind the other, without gaps."""

    ends: NDArray[np.int32]
    """Where each value ends, and a 0 before the first: one more than there are values."""
    values: Data


class HeaderColumns(NamedTuple):
    """The headers of records as columns, one row a header. Starts are positions in the records' data."""

    key_start: NDArray[np.int64]
    key_length: NDArray[np.int32]
    value_start: NDArray[np.int64]
    value_length: NDArray[np.int32]
    """-1 is null."""


def gather(data: Data, starts: NDArray[np.int64], lengths: NDArray[np.int32]) -> Gathered:
    """Copy the pieces of `data` that begin at `starts`; a negative length is that of a null, which takes no bytes.

    Raises ValueError where they take more than MOST_BYTES.
    """
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.maximum(lengths, 0), out=ends[1:])
    if ends[-1] > MOST_BYTES:
        raise ValueError(f"{ends[-1]:,} bytes of values are more than one column takes; gather fewer rows at once")
    values = np.empty(ends[-1], np.uint8)
    copy_pieces(read_only(data), np.ascontiguousarray(starts), ends, values)
    return Gathered(ends.astype(np.int32), values)


def locate_headers(data: Data, headers_start: NDArray[np.int64], header_count: NDArray[np.int32]) -> HeaderColumns:
    """Find keys and values of the headers of records that were decoded from `data`, and so are known to be sound."""
    count = int(header_count.sum(dtype=np.int64))
    key_start, value_start = np.empty((2, count), np.int64)
    key_length, value_length = np.empty((2, count), np.int32)
    columns = key_start, key_length, value_start, value_length
    fill_headers(read_only(data), np.ascontiguousarray(headers_start), np.ascontiguousarray(header_count), *columns)
    return HeaderColumns(*columns)


@kernel
def copy_pieces(data: Data, starts: NDArray[np.int64], ends: NDArray[np.int64], values: Data) -> None:
    """Copy each piece to where its value goes."""
    data = borrowed(data)
    for row in range(starts.size):
        length = ends[row + 1] - ends[row]
        if length > 0:
            copy(values, ends[row], data, starts[row], length)


@kernel
def fill_headers(
    data: Data,
    headers_start: NDArray[np.int64],
    header_count: NDArray[np.int32],
    key_start: NDArray[np.int64],
    key_length: NDArray[np.int32],
    value_start: NDArray[np.int64],
    value_length: NDArray[np.int32],
) -> None:
    """Walk over each record's headers; no number is checked, as decoding has done so."""
    data = borrowed(data)
    header = 0
    for row in range(headers_start.size):
        position = headers_start[row]
        for _ in range(header_count[row]):
            length, position = varint(data, position, data.size)
            key_start[header] = position
            key_length[header] = length
            position += length
            length, position = varint(data, position, data.size)
            value_start[header] = position
            value_length[header] = max(length, -1)
            position += max(length, 0)
            header += 1
