"""Write records in the form that `marshal` reads, which makes objects of thousands of values in one call.

Of that form there is no more here than tuples of bytes and None, which has been the same since Python 2.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, inlined, kernel
from logstore.kernels.bytes import Data, varint, wrapping_add
from logstore.kernels.copy import copy
from logstore.kernels.decode import AHEAD, fields, prefetch_record, record_bounds

TUPLE, BYTES, NONE = ord("("), ord("s"), ord("N")
SIZED = 5
"""Bytes of a tuple's or of bytes' code and size, which stand before what is in them."""
MOST = 5
"""How many times its own bytes a record's headers may take, codes and sizes included: so many if empty."""


@kernel
def write_objects(
    data: Data,
    sections: NDArray[np.int64],
    place: NDArray[np.int64],
    lowest: int,
    offsets: NDArray[np.int64],
    timestamps: NDArray[np.int64],
    header_counts: NDArray[np.int64],
    keys: Data,
    values: Data,
    headers: Data,
) -> tuple[int, int, int, int]:
    """Write records from `offset` `lowest` on, as many as there is room for in rows and bytes.

    `sections` has seven numbers for each batch: where its records start and end, how many they are, the first offset,
    the last one that they may have, the first timestamp, and whether that is every record's. `place` says where to
    begin, and where this ended: the section, the record in it, its position, the offset before. `headers` takes keys
    and values in turn. It is a fault, too, where offsets do not rise within their batch.

    Rows filled; keys that are not None; keys and values of headers; and whether what follows is a fault (1), all is
    done (0), or there is no more room (-1).
    """
    data, keys, values, headers = borrowed(data), borrowed(keys), borrowed(values), borrowed(headers)
    row = key = header = 0
    key_end = value_end = headers_end = SIZED
    section, number, position, before = place[0], place[1], place[2], place[3]
    state = 0
    while 7 * section < sections.size:
        base = 7 * section
        start, end, count = sections[base], sections[base + 1], sections[base + 2]
        first_offset, last_offset = sections[base + 3], sections[base + 4]
        first_timestamp, is_append_time = sections[base + 5], sections[base + 6]
        if number == 0:
            position, before = start, first_offset - 1
        if start < 0 or end > data.size:
            state = 1
            break
        while number < count:
            prefetch_record(data, position + AHEAD)
            begin, record_end = record_bounds(data, position, end)
            if record_end < 0:
                state = 1
                break
            room = record_end - begin + SIZED
            if row == offsets.size or key_end + room > keys.size or value_end + room > values.size:
                state = -1
                break
            (
                timestamp_delta,
                offset_delta,
                key_at,
                key_size,
                value_at,
                value_size,
                headers_at,
                count_of_headers,
                sound,
            ) = fields(data, begin, record_end)
            if not sound:
                state = 1
                break
            offset = wrapping_add(first_offset, offset_delta)
            if offset <= before or offset > last_offset:
                state = 1
                break
            if offset >= lowest:
                if count_of_headers > 0:
                    if headers_end + MOST * room > headers.size:
                        state = -1
                        break
                    headers_end = write_headers(data, headers_at, count_of_headers, headers, headers_end)
                    header += 2 * count_of_headers
                at = np.uint64(row)
                offsets[at] = offset
                timestamps[at] = first_timestamp if is_append_time else wrapping_add(first_timestamp, timestamp_delta)
                header_counts[at] = count_of_headers
                key_end = write_bytes(data, key_at, key_size, keys, key_end)
                value_end = write_bytes(data, value_at, value_size, values, value_end)
                key += key_size >= 0
                row += 1
            position, before = record_end, offset
            number += 1
        if state != 0:
            break
        if position != end:
            state = 1
            break
        section += 1
        number = 0
    write_size(keys, 0, TUPLE, row)
    write_size(values, 0, TUPLE, row)
    write_size(headers, 0, TUPLE, header)
    place[0], place[1], place[2], place[3] = section, number, position, before
    return row, key, header, state


@inlined
def write_headers(data: Data, position: int, count: int, target: Data, at: int) -> int:
    """Write keys and values of headers, which decoding has checked; return where they end."""
    for _ in range(count):
        length, position = varint(data, position, data.size)
        at = write_bytes(data, position, length, target, at)
        length, position = varint(data, position + length, data.size)
        at = write_bytes(data, position, length, target, at)
        position += max(length, 0)
    return at


@inlined
def write_bytes(data: Data, start: int, length: int, target: Data, at: int) -> int:
    """Write bytes, or None for a negative length; return where they end."""
    if length < 0:
        target[np.uint64(at)] = NONE
        return at + 1
    write_size(target, at, BYTES, length)
    copy(target, at + SIZED, data, start, length)
    return at + SIZED + length


@inlined
def write_size(target: Data, at: int, code: int, size: int) -> None:
    """Write a code and a little-endian size of 32 bits."""
    target[np.uint64(at)] = code
    for byte in range(4):
        target[np.uint64(at + 1 + byte)] = size >> 8 * byte & 0xFF
