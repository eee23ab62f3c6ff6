"""Decode the records of many batches to columns, or only check them.

A record is a varint length and that many bytes: attributes i8, timestamp delta varlong, offset delta varint, key and
value (varint length, negative for null, and bytes), and a varint count of headers, each a key and a value like these.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epoch.kernel import borrowed, inlined, kernel
from logstore.columns import BatchColumns, RecordColumns
from logstore.errors import CorruptRecordError
from logstore.kernels.bytes import Data, read_only, varint, varlong, wrapping_add
from logstore.kernels.prefetch import prefetch
from logstore.kernels.scan import CODEC, HEADER, SHORTEST_RECORD
from logstore.record_fault import RecordFault, RecordFaultReason

Rows = NDArray[np.int64]
"""Row numbers of batches in a `BatchColumns`."""

CHUNK_RECORDS = 16_384
"""Records of one chunk of `decode_chunks`: 1 MB of columns, which stay in a core's own cache."""

AHEAD = 2048
"""Bytes by which memory is asked ahead: some twenty records."""
SHORTEST_LENGTH = SHORTEST_RECORD - 1
"""The length of a record without anything; it does not count itself."""
LOG_APPEND_TIME = 0x8
"""The attribute bit which says that the leader set the timestamps."""

SOUND = 0
LENGTH = int(RecordFaultReason.LENGTH)
FIELDS = int(RecordFaultReason.FIELDS)
COUNT = int(RecordFaultReason.COUNT)
OFFSET_RANGE = int(RecordFaultReason.OFFSET_RANGE)
OFFSET_ORDER = int(RecordFaultReason.OFFSET_ORDER)
TIMESTAMP = int(RecordFaultReason.TIMESTAMP)

COLUMNS: dict[str, type[np.generic]] = {
    "batch": np.int64,
    "offset": np.int64,
    "timestamp": np.int64,
    "key_start": np.int64,
    "key_length": np.int32,
    "value_start": np.int64,
    "value_length": np.int32,
    "headers_start": np.int64,
    "header_count": np.int32,
}
"""Columns of `RecordColumns` but the data, in the order in which `decode_batches` takes them."""


def decode(data: Data, batches: BatchColumns, rows: Rows | None = None) -> RecordColumns:
    """Decode the records of the uncompressed batches that were scanned from `data`, or of those in `rows`.

    Column `batch` holds row numbers of `batches`. Raises CorruptRecordError at the first record that cannot be; use
    `check_records` to have all of them. Offsets are not checked against each other.

        records = decode(data, scan(data, check_crc=True))
    """
    rows = uncompressed(batches) if rows is None else rows
    return _decode(data, batches, rows, batches.position[rows] + HEADER, batches.position[rows] + batches.size[rows])


def decode_chunks(
    data: Data, batches: BatchColumns, rows: Rows | None = None, *, records: int = CHUNK_RECORDS
) -> Iterator[RecordColumns]:
    """Decode as `decode` does, in chunks of whole batches with about `records` records, so that memory stays flat."""
    rows = uncompressed(batches) if rows is None else rows
    before = np.cumsum(batches.record_count[rows], dtype=np.int64) - batches.record_count[rows]
    for chunk in np.split(rows, np.flatnonzero(np.diff(before // records)) + 1):
        yield decode(data, batches, chunk)


def decode_section(section: Data, batches: BatchColumns, row: int) -> RecordColumns:
    """Decode the decompressed records of the batch in `row`; positions are those in `section`."""
    bounds = np.array([0]), np.array([len(section)])
    return _decode(section, batches, np.array([row]), *bounds)


def check_records(data: Data, batches: BatchColumns, rows: Rows | None = None) -> list[RecordFault]:
    """Check the records of the uncompressed batches that were scanned from `data`, or of those in `rows`.

    Each batch must hold as many records as it counts, fill its size with them exactly, and their offsets must ascend
    from its base offset at least to its last offset at most. The largest of their timestamps must be the batch's, or -1
    if all are lower, unless the leader set them. Gives the first fault of each batch, none if all is well.
    """
    rows = uncompressed(batches) if rows is None else rows
    return _check(data, batches, rows, batches.position[rows] + HEADER, batches.position[rows] + batches.size[rows])


def check_section(section: Data, batches: BatchColumns, row: int) -> RecordFault | None:
    """Check the decompressed records of the batch in `row`, as `check_records` does."""
    bounds = np.array([0]), np.array([len(section)])
    return next(iter(_check(section, batches, np.array([row]), *bounds)), None)


def uncompressed(batches: BatchColumns) -> Rows:
    """Rows of the batches of magic 2 whose records are not compressed."""
    return np.flatnonzero((batches.magic == 2) & (batches.attributes & CODEC == 0))


def _decode(data: Data, batches: BatchColumns, rows: Rows, starts: Rows, ends: Rows) -> RecordColumns:
    counts = batches.record_count[rows].astype(np.int64)
    impossible = np.flatnonzero(counts > (ends - starts) // SHORTEST_RECORD)
    if len(impossible):
        raise _corrupt(
            batches, RecordFault(int(rows[impossible[0]]), int(starts[impossible[0]]), RecordFaultReason.COUNT)
        )
    columns: dict[str, Any] = {name: np.empty(counts.sum(), dtype) for name, dtype in COLUMNS.items()}
    data = read_only(data)
    fault, position, reason = decode_batches(
        data,
        rows,
        starts,
        ends,
        counts,
        batches.base_offset[rows],
        batches.base_timestamp[rows],
        batches.max_timestamp[rows],
        batches.attributes[rows],
        *columns.values(),
    )
    if reason != SOUND:
        raise _corrupt(batches, RecordFault(int(rows[fault]), int(position), RecordFaultReason(reason)))
    return RecordColumns(data=data, **columns)


def _corrupt(batches: BatchColumns, fault: RecordFault) -> CorruptRecordError:
    return CorruptRecordError(
        f"a record has an impossible {fault.reason.name.lower()}",
        position=fault.position,
        offset=int(batches.base_offset[fault.batch]),
        advice="`verify --records` finds all such batches; take them from another replica",
    )


def _check(data: Data, batches: BatchColumns, rows: Rows, starts: Rows, ends: Rows) -> list[RecordFault]:
    data = read_only(data)
    counts = batches.record_count[rows]
    last_deltas = batches.last_offset[rows] - batches.base_offset[rows]
    times = batches.base_timestamp[rows], batches.max_timestamp[rows], batches.attributes[rows]
    faults: list[RecordFault] = []
    index = 0
    while index < len(rows):
        index, position, reason = check_batches(data, index, starts, ends, counts, last_deltas, *times)
        if reason != SOUND:
            faults.append(RecordFault(int(rows[index]), int(position), RecordFaultReason(reason)))
        index += 1
    return faults


@kernel
def decode_batches(
    data: Data,
    rows: Rows,
    starts: Rows,
    ends: Rows,
    counts: NDArray[np.int64],
    base_offset: NDArray[np.int64],
    base_timestamp: NDArray[np.int64],
    max_timestamp: NDArray[np.int64],
    attributes: NDArray[np.int16],
    batch: NDArray[np.int64],
    offset: NDArray[np.int64],
    timestamp: NDArray[np.int64],
    key_start: NDArray[np.int64],
    key_length: NDArray[np.int32],
    value_start: NDArray[np.int64],
    value_length: NDArray[np.int32],
    headers_start: NDArray[np.int64],
    header_count: NDArray[np.int32],
) -> tuple[int, int, int]:
    """Fill the columns of `RecordColumns`: the first faulty batch's index, its bad record's position, the reason.

    The columns must have as many rows as the counts add up to, at least.
    """
    data = borrowed(data)
    record = 0
    for index in range(rows.size):
        position, end = starts[index], ends[index]
        if position < 0 or end > data.size or counts[index] > batch.size - record:
            return index, position, COUNT
        append_time = attributes[index] & LOG_APPEND_TIME != 0
        for _ in range(counts[index]):
            prefetch(data, position + AHEAD)
            start, record_end = record_bounds(data, position, end)
            if record_end < 0:
                return index, position, COUNT if position == end else LENGTH
            timestamp_delta, offset_delta, key_at, key_size, value_at, value_size, headers_at, headers, sound = fields(
                data, start, record_end
            )
            if not sound:
                return index, position, FIELDS
            batch[record] = rows[index]
            offset[record] = wrapping_add(base_offset[index], offset_delta)
            timestamp[record] = max_timestamp[index]
            if not append_time:
                timestamp[record] = wrapping_add(base_timestamp[index], timestamp_delta)
            key_start[record] = key_at
            key_length[record] = key_size
            value_start[record] = value_at
            value_length[record] = value_size
            headers_start[record] = headers_at
            header_count[record] = headers
            record += 1
            position = record_end
        if position != end:
            return index, position, COUNT
    return rows.size, 0, SOUND


@kernel
def check_batches(
    data: Data,
    first: int,
    starts: Rows,
    ends: Rows,
    counts: NDArray[np.int32],
    last_offset_deltas: NDArray[np.int64],
    base_timestamp: NDArray[np.int64],
    max_timestamp: NDArray[np.int64],
    attributes: NDArray[np.int16],
) -> tuple[int, int, int]:
    """Check the batches from index `first` on: the first faulty one's index, its bad record's position, the reason."""
    data = borrowed(data)
    for index in range(first, starts.size):
        position, end = starts[index], ends[index]
        if position < 0 or end > data.size:
            return index, position, COUNT
        previous = largest = -1
        for _ in range(counts[index]):
            prefetch(data, position + AHEAD)
            start, record_end = record_bounds(data, position, end)
            if record_end < 0:
                return index, position, COUNT if position == end else LENGTH
            timestamp_delta, offset_delta, _, _, _, _, _, _, sound = fields(data, start, record_end)
            if not sound:
                return index, position, FIELDS
            if offset_delta < 0 or offset_delta > last_offset_deltas[index]:
                return index, position, OFFSET_RANGE
            if offset_delta <= previous:
                return index, position, OFFSET_ORDER
            previous = offset_delta
            largest = max(largest, wrapping_add(base_timestamp[index], timestamp_delta))
            position = record_end
        if position != end:
            return index, position, COUNT
        if counts[index] > 0 and attributes[index] & LOG_APPEND_TIME == 0 and largest != max_timestamp[index]:
            return index, starts[index], TIMESTAMP
    return starts.size, 0, SOUND


@inlined
def record_bounds(data: Data, position: int, end: int) -> tuple[int, int]:
    """Read a record's length: where its fields begin, and where they end or -1 if that cannot be."""
    length, start = varint(data, position, end)
    if length < SHORTEST_LENGTH or length > end - start:
        return start, -1
    return start, start + length


@inlined
def fields(data: Data, start: int, end: int) -> tuple[int, int, int, int, int, int, int, int, bool]:
    """Read a record's fields between its bounds, and tell whether they fill them exactly.

    Timestamp delta, offset delta, start and length of key and value, start and count of headers. No number is checked
    but lengths before they are added: a number that runs over `end` leaves the position beyond it for good.
    """
    timestamp_delta, position = varlong(data, start + 1, end)
    offset_delta, position = varint(data, position, end)
    key_length, key_start = varint(data, position, end)
    position = skip(key_start, key_length, end)
    value_length, value_start = varint(data, position, end)
    position = skip(value_start, value_length, end)
    header_count, headers_start = varint(data, position, end)
    position = headers_start
    if header_count != 0:
        position = skip_headers(data, headers_start, end, header_count)
    sound = position == end
    return (
        timestamp_delta,
        offset_delta,
        key_start,
        max(key_length, -1),
        value_start,
        max(value_length, -1),
        headers_start,
        header_count,
        sound,
    )


@inlined
def skip(position: int, length: int, end: int) -> int:
    """Step over the bytes of a key or value, none if it is null; beyond `end` if they are more than there are."""
    if length > end - position:
        return end + 1
    return position + max(length, 0)


@kernel
def skip_headers(data: Data, position: int, end: int, count: int) -> int:
    """Step over headers; beyond `end` if they cannot be. Each takes two bytes at least, which bounds the loop."""
    data = borrowed(data)
    if count < 0 or count > (end - position) // 2:
        return end + 1
    for _ in range(count):
        length, position = varint(data, position, end)
        if length < 0:
            return end + 1
        position = skip(position, length, end)
        length, position = varint(data, position, end)
        position = skip(position, length, end)
    return position
