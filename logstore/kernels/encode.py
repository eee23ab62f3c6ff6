"""Encode records from columns into batches of magic 2: headers, records and checksums in one pass.

The layout of a record is in `decode`, that of a header in `scan`.
"""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, inlined, kernel
from logstore.batch.batch_attributes import SEQUENCES, TIMESTAMP_TYPE_BIT
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.columns import RecordColumns
from logstore.batch.layout import (
    ATTRIBUTES_AT,
    BASE_SEQUENCE_AT,
    BASE_TIMESTAMP_AT,
    CRC_AT,
    CRC_START,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    RECORD_COUNT_AT,
)
from logstore.kernels.bytes import Data
from logstore.kernels.copy import copy
from logstore.kernels.crc import crc32c
from logstore.kernels.data import read_only
from logstore.kernels.decode import skip_headers
from logstore.kernels.prefetch import prefetch

Times = NDArray[np.int64]
Starts = NDArray[np.int64]
Lengths = NDArray[np.int32]

Number = TypeVar("Number", np.int32, np.int64)

NUMBERS = 36
"""Bytes that the numbers of a record take at most: five of 32 bits, one of 64, and the attributes."""
AHEAD = 2_048
"""Bytes by which memory is asked ahead of values, in the hope that they lie one after the other, and of batches."""
CACHE_LINE = 64

Section = tuple[memoryview, int, int, int]


class Encoder:
    """Encodes the records of some columns, once, in batches of at most `batch_bytes` before compression.

    A record that is larger has a batch of its own.
    """

    def __init__(self, records: RecordColumns, batch_bytes: int) -> None:
        """Measure the records. Raises ValueError where one does not lie within the data."""
        self._count = len(records.timestamp)
        self._batch_bytes = batch_bytes
        self._fields = (
            read_only(records.data),
            column(records.timestamp, np.int64),
            column(records.key_start, np.int64),
            column(records.key_length, np.int32),
            column(records.value_start, np.int64),
            column(records.value_length, np.int32),
            column(records.headers_start, np.int64),
            column(records.header_count, np.int32),
        )
        self._headers_length = np.empty(self._count, np.int32)
        self._room = measure(self._fields[0], *self._fields[2:], self._headers_length)
        if self._room < 0:
            raise ValueError(f"record {-self._room - 1:,} does not lie within the data")

    def batches(self, template: BatchTemplate) -> memoryview:
        """Encode all, uncompressed."""
        out = np.empty(self._room + self._most_batches() * HEADER_SIZE, np.uint8)
        size = encode_batches(
            *self._fields,
            self._headers_length,
            self._batch_bytes,
            template.base_offset,
            template.leader_epoch,
            template.attributes,
            template.producer_id,
            template.producer_epoch,
            template.base_sequence,
            template.append_timestamp or 0,
            out,
        )
        return out[:size].data

    def sections(self) -> Iterator[Section]:
        """Encode batch by batch, without headers: bytes, valid until the next, count, first and largest timestamp."""
        out = np.empty(self._room, np.uint8)
        first = 0
        while first < self._count:
            limit = self._batch_bytes - HEADER_SIZE
            size, following, largest = encode_section(*self._fields, self._headers_length, first, limit, out, 0)
            yield out[:size].data, following - first, int(self._fields[1][first]), largest
            first = following

    def _most_batches(self) -> int:
        # Two neighbours have more than `batch_bytes` together, or they would be one.
        return min(self._count, 2 * (self._room + self._count * HEADER_SIZE) // max(self._batch_bytes, 1) + 1)


def column(values: NDArray[Number], dtype: type[Number]) -> NDArray[Number]:
    """View a column as read-only, so that each kernel is compiled for one type of array only."""
    view = np.ascontiguousarray(values, dtype).view()
    view.flags.writeable = False
    return view


@kernel
def measure(
    data: Data,
    key_start: Starts,
    key_length: Lengths,
    value_start: Starts,
    value_length: Lengths,
    headers_start: Starts,
    header_count: Lengths,
    headers_length: Lengths,
) -> int:
    """Bytes that the records take at most, and those of each one's headers; -1 - i if record i is not in the data."""
    data = borrowed(data)
    room = 0
    for i in range(key_start.size):
        headers_length[i] = 0
        if header_count[i] != 0:
            if headers_start[i] < 0 or headers_start[i] > data.size:
                return -1 - i
            end = skip_headers(data, headers_start[i], data.size, header_count[i])
            if end > data.size or end - headers_start[i] > 0x7FFF_FFFF:
                return -1 - i
            headers_length[i] = end - headers_start[i]
        if not lies_within(key_start[i], key_length[i], data.size):
            return -1 - i
        if not lies_within(value_start[i], value_length[i], data.size):
            return -1 - i
        size = np.int64(max(key_length[i], 0)) + max(value_length[i], 0) + headers_length[i] + NUMBERS
        if size > 0x7FFF_FFFF:
            return -1 - i
        room += size
    return room


@inlined
def lies_within(start: int, length: int, size: int) -> bool:
    """Whether a key or value lies within so many bytes of data; null ones do."""
    return length <= 0 or (0 <= start <= size and length <= size - start)


@kernel
def encode_batches(
    data: Data,
    timestamp: Times,
    key_start: Starts,
    key_length: Lengths,
    value_start: Starts,
    value_length: Lengths,
    headers_start: Starts,
    header_count: Lengths,
    headers_length: Lengths,
    batch_bytes: int,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    append_timestamp: int,
    out: Data,
) -> int:
    """Encode all records into `out`, which has room for them, and give how many bytes they are."""
    data, out = borrowed(data), borrowed(out)
    first = start = 0
    while first < timestamp.size:
        end, following, largest = encode_section(
            data,
            timestamp,
            key_start,
            key_length,
            value_start,
            value_length,
            headers_start,
            header_count,
            headers_length,
            first,
            batch_bytes - HEADER_SIZE,
            out,
            start + HEADER_SIZE,
        )
        sequence = base_sequence if base_sequence < 0 else (base_sequence + first) % SEQUENCES
        put(out, start, base_offset + first, 8)
        put(out, start + LENGTH_AT, end - start - LOG_OVERHEAD, 4)
        put(out, start + LEADER_EPOCH_AT, leader_epoch, 4)
        put(out, start + MAGIC_AT, MAGIC, 1)
        put(out, start + ATTRIBUTES_AT, attributes, 2)
        put(out, start + LAST_OFFSET_DELTA_AT, following - first - 1, 4)
        put(out, start + BASE_TIMESTAMP_AT, timestamp[first], 8)
        put(out, start + MAX_TIMESTAMP_AT, append_timestamp if attributes & TIMESTAMP_TYPE_BIT else largest, 8)
        put(out, start + PRODUCER_ID_AT, producer_id, 8)
        put(out, start + PRODUCER_EPOCH_AT, producer_epoch, 2)
        put(out, start + BASE_SEQUENCE_AT, sequence, 4)
        put(out, start + RECORD_COUNT_AT, following - first, 4)
        put(out, start + CRC_AT, crc32c(out, start + CRC_START, end), 4)
        first, start = following, end
    return start


@kernel
def encode_section(
    data: Data,
    timestamp: Times,
    key_start: Starts,
    key_length: Lengths,
    value_start: Starts,
    value_length: Lengths,
    headers_start: Starts,
    header_count: Lengths,
    headers_length: Lengths,
    first: int,
    limit: int,
    out: Data,
    start: int,
) -> tuple[int, int, int]:
    """Encode records from `first` on, at least one, into `limit` bytes: the end, the next record, the largest time."""
    data, out = borrowed(data), borrowed(out)
    position = start
    largest = timestamp[first]
    for i in range(first, timestamp.size):
        ask_ahead(out, position)
        time_delta = zigzag(timestamp[i] - timestamp[first])
        offset_delta = zigzag(i - first)
        key, value = zigzag(max(key_length[i], -1)), zigzag(max(value_length[i], -1))
        headers = zigzag(header_count[i])
        contents = np.int64(max(key_length[i], 0)) + max(value_length[i], 0) + headers_length[i]
        numbers = width(time_delta) + width(offset_delta) + width(key) + width(value) + width(headers)
        length = zigzag(1 + numbers + contents)
        if i > first and position - start + width(length) + 1 + numbers + contents > limit:
            return position, i, largest
        position = put_varint(out, position, length)
        out[np.uint64(position)] = 0
        position = put_varint(out, position + 1, time_delta)
        position = put_varint(out, position, offset_delta)
        position = put_varint(out, position, key)
        if key_length[i] > 0:
            copy(out, position, data, key_start[i], key_length[i])
            position += key_length[i]
        position = put_varint(out, position, value)
        if value_length[i] > 0:
            ask_ahead(data, value_start[i])
            copy(out, position, data, value_start[i], value_length[i])
            position += value_length[i]
        position = put_varint(out, position, headers)
        if headers_length[i] > 0:
            copy(out, position, data, headers_start[i], headers_length[i])
            position += headers_length[i]
        largest = max(largest, timestamp[i])
    return position, timestamp.size, largest


@inlined
def ask_ahead(data: Data, position: int) -> None:
    """Prefetch what is soon read or written: about as much as a record takes."""
    prefetch(data, position + AHEAD)
    prefetch(data, position + AHEAD + CACHE_LINE)


@inlined
def zigzag(value: int) -> np.uint64:
    """Map small negative numbers to small positive ones."""
    number = np.int64(value)
    return np.uint64(number << np.int64(1) ^ number >> np.int64(63))


@inlined
def width(number: np.uint64) -> int:
    """Bytes of a varint."""
    if number < 0x80:
        return 1
    size = 2
    number >>= np.uint64(14)
    while number > 0:
        size += 1
        number >>= np.uint64(7)
    return size


@inlined
def put_varint(out: Data, position: int, number: np.uint64) -> int:
    """Store a varint, and give the position behind it."""
    while number >= 0x80:
        out[np.uint64(position)] = np.uint8(number & np.uint64(0x7F) | np.uint64(0x80))
        number >>= np.uint64(7)
        position += 1
    out[np.uint64(position)] = np.uint8(number)
    return position + 1


@inlined
def put(out: Data, position: int, value: int, size: int) -> None:
    """Store a big-endian integer of `size` bytes."""
    for i in range(size):
        shift = np.int64(8 * (size - 1 - i))
        out[np.uint64(position + i)] = np.uint8(np.int64(value) >> shift & np.int64(0xFF))
