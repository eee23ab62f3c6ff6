"""Decode the records of many batches to columns, or only check them (`record_checks`).

A record is a varint length and that many bytes: attributes i8, timestamp delta varlong, offset delta varint, key and
value (varint length, negative for null, and bytes), and a varint count of headers, each a key and a value like these.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, inlined, kernel
from logstore.batch.batch_attributes import TIMESTAMP_TYPE_BIT
from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.batch.layout import HEADER_SIZE
from logstore.batch.record_fault import RecordFaultReason
from logstore.errors import CorruptRecordError
from logstore.kernels.bytes import Data, byte, varint, varlong, wrapping_add
from logstore.kernels.data import LINE, read_only
from logstore.kernels.prefetch import prefetch
from logstore.kernels.record_checks import SOUND, uncompressed
from logstore.kernels.scan import SHORTEST_RECORD

Rows = NDArray[np.int64]
"""Row numbers of batches in a `BatchColumns`."""

CHUNK_RECORDS = 16_384
"""Records of one chunk of `decode_chunks`: 1 MB of columns, which stay in a core's own cache."""
EVERYTHING = 2**62
"""Records of a chunk that takes them all."""

AHEAD = 2048
"""Bytes by which memory is asked ahead: some twenty records."""
LONG = 1 << 14
"""What `short` gives, or more, for a number of more than two bytes."""
BEYOND = 2
"""Bytes behind a record that must be there for its fields to be read before they are checked."""
SHORTEST_LENGTH = SHORTEST_RECORD - 1
"""The length of a record without anything; it does not count itself."""

LENGTH = int(RecordFaultReason.LENGTH)
FIELDS = int(RecordFaultReason.FIELDS)
COUNT = int(RecordFaultReason.COUNT)
OFFSET_RANGE = int(RecordFaultReason.OFFSET_RANGE)
OFFSET_ORDER = int(RecordFaultReason.OFFSET_ORDER)
TIMESTAMP = int(RecordFaultReason.TIMESTAMP)


class Sections(NamedTuple):
    """The records of batches, one row a batch: what decoding takes of their headers, in the kernel's order."""

    rows: Rows
    """Row numbers in the `BatchColumns`."""
    starts: Rows
    ends: Rows
    counts: NDArray[np.int32]
    base_offset: NDArray[np.int64]
    base_timestamp: NDArray[np.int64]
    max_timestamp: NDArray[np.int64]
    attributes: NDArray[np.int16]
    last_offset: NDArray[np.int64]
    before: Rows
    """How many records the batches before have, one row more than there are batches; a count that cannot be is none."""


def decode(data: Data, batches: BatchColumns, rows: Rows | None = None, *, in_order: bool = False) -> RecordColumns:
    """Decode the records of the uncompressed batches that were scanned from `data`, or of those in `rows`.

    Column `batch` holds row numbers of `batches`. Raises CorruptRecordError at the first record that cannot be; use
    `check_records` to have all of them. Offsets are checked against each other with `in_order` alone, as by
    `ordered_records`.

        records = decode(data, scan(data, check_crc=True))
    """
    [records] = decode_chunks(data, batches, rows, records=EVERYTHING, in_order=in_order)
    return records


def decode_chunks(
    data: Data,
    batches: BatchColumns,
    rows: Rows | None = None,
    *,
    records: int = CHUNK_RECORDS,
    in_order: bool = False,
) -> Iterator[RecordColumns]:
    """Decode as `decode` does, in chunks of whole batches with about `records` records, so that memory stays flat."""
    rows = uncompressed(batches) if rows is None else rows
    sections = _sections(
        batches, rows, batches.position[rows] + HEADER_SIZE, batches.position[rows] + batches.size[rows]
    )
    cuts = np.flatnonzero(np.diff(sections.before[:-1] // records)) + 1
    bounds = [0, *cuts.tolist(), len(rows)]
    room = int(np.diff(sections.before[bounds]).max())
    data = read_only(data)
    for first, last in pairwise(bounds):
        yield _decode(data, batches, sections, (first, last), room, in_order=in_order)


def decode_section(section: Data, batches: BatchColumns, row: int) -> RecordColumns:
    """Decode the decompressed records of the batch in `row`; positions are those in `section`."""
    return decode_sections(section, batches, np.array([row]), np.array([0]), np.array([len(section)]))


def decode_sections(
    data: Data,
    batches: BatchColumns,
    rows: Rows,
    starts: Rows,
    ends: Rows,
    counts: NDArray[np.int32] | None = None,
    *,
    in_order: bool = False,
) -> RecordColumns:
    """Decode the decompressed records of the batches in `rows`, each of which lies in `data` from its start to its end.

    Column `batch` holds row numbers of `batches`; errors are as of `decode`, positions those in `data`. `counts` says
    how many records lie there, where those are not all of their batches.
    """
    sections = _sections(batches, rows, starts, ends, counts)
    return _decode(read_only(data), batches, sections, (0, len(rows)), int(sections.before[-1]), in_order=in_order)


def _sections(
    batches: BatchColumns, rows: Rows, starts: Rows, ends: Rows, counts: NDArray[np.int32] | None = None
) -> Sections:
    counts = batches.record_count[rows] if counts is None else counts
    before = np.zeros(len(rows) + 1, np.int64)
    possible = (counts >= 0) & (counts <= (ends - starts) // SHORTEST_RECORD)
    np.cumsum(np.where(possible, counts, 0), out=before[1:])
    return Sections(
        rows,
        starts,
        ends,
        counts,
        batches.base_offset[rows],
        batches.base_timestamp[rows],
        batches.max_timestamp[rows],
        batches.attributes[rows],
        batches.last_offset[rows],
        before,
    )


def _decode(
    data: Data, batches: BatchColumns, sections: Sections, bounds: tuple[int, int], room: int, *, in_order: bool
) -> RecordColumns:
    """Decode the batches from one number up to another, which is left out; there is to be room for so many records.

    Columns of one size in two blocks: the C library gives those of the last chunk out again, where it would give small
    ones back to the system, and each page of fresh memory costs a fault.
    """
    first, last = bounds
    count = int(sections.before[last] - sections.before[first])
    batch, offset, timestamp, key_start, value_start, headers_start = np.empty((6, room), np.int64)[:, :count]
    key_length, value_length, header_count = np.empty((3, room), np.int32)[:, :count]
    columns = batch, offset, timestamp, key_start, key_length, value_start, value_length, headers_start, header_count
    fault, position, reason = decode_batches(data, first, last, in_order, *sections, *columns)
    if reason != SOUND:
        raise corrupt_record(batches, int(sections.rows[fault]), int(position), int(reason))
    return RecordColumns(data, *columns)


def corrupt_record(batches: BatchColumns, row: int, position: int, reason: int) -> CorruptRecordError:
    """Make the error for a record at `position` of the batch in `row`, from what a kernel found."""
    misplaced = "a record's offset does not rise, or is none of its batch"
    return CorruptRecordError(
        misplaced if reason == OFFSET_ORDER else f"a record has an impossible {RecordFaultReason(reason).name.lower()}",
        position=position,
        offset=int(batches.base_offset[row]),
        advice="`verify --records` finds all such batches; take them from another replica",
    )


@kernel
def decode_batches(
    data: Data,
    first: int,
    last: int,
    in_order: bool,
    rows: Rows,
    starts: Rows,
    ends: Rows,
    counts: NDArray[np.int32],
    base_offset: NDArray[np.int64],
    base_timestamp: NDArray[np.int64],
    max_timestamp: NDArray[np.int64],
    attributes: NDArray[np.int16],
    last_offset: NDArray[np.int64],
    before: Rows,
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
    """Fill the columns of `RecordColumns` from the batches `first` to `last`, which is left out.

    The first faulty batch's index, its bad record's position, the reason, which may be that offsets are not `in_order`.
    The columns must have as many rows as `before` says, at least.
    """
    data = borrowed(data)
    for index in range(first, last):
        position, end = starts[index], ends[index]
        record, following = before[index] - before[first], before[index + 1] - before[first]
        if position < 0 or end > data.size or counts[index] != following - record:
            return index, position, COUNT
        # Taken out of the loop by hand: for all that LLVM knows, a column might lie over the headers.
        number, first_offset, base_time, largest_time = (
            rows[index],
            base_offset[index],
            base_timestamp[index],
            max_timestamp[index],
        )
        append_time = attributes[index] & TIMESTAMP_TYPE_BIT != 0
        for row in range(record, following):
            batch[np.uint64(row)] = number
        for row in range(record, following):
            prefetch_record(data, position + AHEAD)
            start, record_end = record_bounds(data, position, end)
            if record_end < 0:
                return index, position, COUNT if position == end else LENGTH
            timestamp_delta, offset_delta, key_at, key_size, value_at, value_size, headers_at, headers, sound = fields(
                data, start, record_end
            )
            if not sound:
                return index, position, FIELDS
            # Unsigned, because numba lets a signed index count from the end and pays for it at each column.
            at = np.uint64(row)
            offset[at] = wrapping_add(first_offset, offset_delta)
            timestamp[at] = largest_time if append_time else wrapping_add(base_time, timestamp_delta)
            key_start[at] = key_at
            key_length[at] = key_size
            value_start[at] = value_at
            value_length[at] = value_size
            headers_start[at] = headers_at
            header_count[at] = headers
            position = record_end
        if position != end:
            return index, position, COUNT
        if in_order and not is_rising(offset, record, following, first_offset, last_offset[index]):
            return index, starts[index], OFFSET_ORDER
    return last, 0, SOUND


@inlined
def is_rising(offset: NDArray[np.int64], row: int, following: int, base_offset: int, last_offset: int) -> bool:
    """Whether a batch's offsets from `row` on rise, and lie among those of its header if they are no more than these.

    That takes a loop of its own, of which LLVM makes vectors.
    """
    if row == following:
        return True
    latest = offset[np.uint64(following - 1)]
    if following - row > 1:
        falls = 0
        for at in range(row + 1, following):
            falls += offset[np.uint64(at)] <= offset[np.uint64(at - 1)]
        if falls > 0:
            return False
    has_too_many = following - row > last_offset - base_offset + 1
    return offset[np.uint64(row)] >= base_offset and (latest <= last_offset or has_too_many)


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
            prefetch_record(data, position + AHEAD)
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
        if counts[index] > 0 and attributes[index] & TIMESTAMP_TYPE_BIT == 0 and largest != max_timestamp[index]:
            return index, starts[index], TIMESTAMP
    return starts.size, 0, SOUND


@inlined
def prefetch_record(data: Data, position: int) -> None:
    """Ask for two lines of the cache: a small record rarely begins where one does, and ends in the next."""
    prefetch(data, position)
    prefetch(data, position + LINE)


@inlined
def record_bounds(data: Data, position: int, end: int) -> tuple[int, int]:
    """Read a record's length: where its fields begin, and where they end or -1 if that cannot be."""
    length, start = varint(data, position, end)
    if length < SHORTEST_LENGTH or length > end - start:
        return start, -1
    return start, start + length


@inlined
def fields(data: Data, start: int, end: int) -> tuple[int, int, int, int, int, int, int, int, bool]:
    """Read a record's fields between its bounds, and return whether they fill them exactly.

    Timestamp delta, offset delta, start and length of key and value, start and count of headers. Most records have no
    headers and no number above two bytes: those are read in one go, and looked at once in the end.
    """
    if end + BEYOND <= data.size:
        timestamp_delta, position = short(data, start + 1)
        offset_delta, position = short(data, position)
        key, key_start = short(data, position)
        position = key_start + max(signed(key), 0)
        if position <= end:
            value, value_start = short(data, position)
            position = value_start + max(signed(value), 0)
            is_short = timestamp_delta | offset_delta | key | value < LONG
            if is_short and position == end - 1 and byte(data, position) == 0:
                return (
                    signed(timestamp_delta),
                    signed(offset_delta),
                    key_start,
                    max(signed(key), -1),
                    value_start,
                    max(signed(value), -1),
                    end,
                    0,
                    True,
                )
    return any_fields(data, start, end)


@inlined
def short(data: Data, position: int) -> tuple[int, int]:
    """Read an unsigned number and the position behind it, without a look at where the bytes end.

    A number of more than two bytes gives `LONG` or more.
    """
    first = byte(data, position)
    if first < 0x80:
        return first, position + 1
    return first & 0x7F | byte(data, position + 1) << 7, position + 2


@inlined
def signed(number: int) -> int:
    """Decode a zigzag number, whose lowest bit is the sign."""
    return number >> 1 ^ -(number & 1)


@kernel
def any_fields(data: Data, start: int, end: int) -> tuple[int, int, int, int, int, int, int, int, bool]:
    """Read a record's fields as `fields` does, whatever they are.

    No number is checked but lengths before they are added: a number that runs over `end` leaves the position beyond it
    for good.
    """
    data = borrowed(data)
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
