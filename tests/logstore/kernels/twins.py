"""What each kernel must answer, in plain Python that shares no code with it."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

import crc32c

from logstore.batch.columns import StopReason
from logstore.batch.record_fault import RecordFaultReason

HEADER = struct.Struct(">qiibIhiqqqhii")
LARGEST = 2**63 - 1
SMALLEST = -(2**63)


class BatchRow(NamedTuple):
    """One row of `BatchColumns`, in its order."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    magic: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    crc: int
    crc_valid: bool


class RecordRow(NamedTuple):
    """One row of `RecordColumns`, in its order, without the data."""

    batch: int
    offset: int
    timestamp: int
    key_start: int
    key_length: int
    value_start: int
    value_length: int
    headers_start: int
    header_count: int


class ReadRecord(NamedTuple):
    """A record as it is given to readers, its headers as bytes."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes | None, bytes | None]]


class BadRecordError(Exception):
    """A record that cannot be: its position and the reason."""


def scan(
    data: bytes, position: int, *, check_crc: bool, capacity: int, chunk_bytes: int = 2**63
) -> tuple[list[BatchRow], int, StopReason]:
    rows: list[BatchRow] = []
    start = position
    while True:
        stop = what_follows(data, position)
        if stop is None and (len(rows) == capacity or position - start >= chunk_bytes):
            stop = StopReason.MORE
        if stop is not None:
            return rows, position, stop
        row = read_batch(data, position, check_crc=check_crc)
        rows.append(row)
        position += row.size


def what_follows(data: bytes, position: int) -> StopReason | None:
    rest = data[position:]
    if len(rest) < 17:
        return StopReason.TORN if rest else StopReason.END
    length, magic = struct.unpack_from(">i", rest, 8)[0], struct.unpack_from(">b", rest, 16)[0]
    if magic not in {0, 1, 2}:
        return StopReason.BAD_MAGIC
    if length < (49 if magic == 2 else 14):
        return StopReason.BAD_LENGTH
    if 12 + length > len(rest):
        return StopReason.TORN
    if magic < 2:
        return StopReason.LEGACY
    row = read_batch(data, position, check_crc=False)
    delta = row.last_offset - row.base_offset
    if row.base_offset < 0 or delta < 0 or row.last_offset > LARGEST or row.record_count < 0:
        return StopReason.BAD_HEADER
    return None


def read_batch(data: bytes, position: int, *, check_crc: bool) -> BatchRow:
    base, length, epoch, magic, crc, attributes, delta, *others = HEADER.unpack_from(data, position)
    size = 12 + length
    valid = not check_crc or crc32c.crc32c(data[position + 21 : position + size]) == crc
    return BatchRow(position, size, base, base + delta, epoch, magic, attributes, *others, crc, valid)


def append_one(
    data: bytes, next_offset: int, leader_epoch: int, room: int, largest_offset: int, young_until: int
) -> tuple[int, int, int, int, bool]:
    """Tell what is written of `data` to a file that takes it."""
    nothing = (0, -1, -1, 0, False)
    if len(data) > room or what_follows(data, 0) is not None:
        return nothing
    row = read_batch(data, 0, check_crc=True)
    is_plain = row.size == len(data) and row.crc_valid and row.leader_epoch == leader_epoch and row.producer_id == -1
    fits = next_offset <= row.base_offset and row.last_offset <= largest_offset and row.max_timestamp <= young_until
    return (row.base_offset, row.last_offset, row.max_timestamp, row.size, False) if is_plain and fits else nothing


def find_next_batch(data: bytes, start: int, end: int, minimum_offset: int) -> int:
    """Without the kernel's bound on its work."""
    data = data[:end]
    for position in range(start, end - 60):
        if data[position + 16] != 2 or what_follows(data, position) is not None:
            continue
        row = read_batch(data, position, check_crc=True)
        codec = row.attributes & 7
        known = 0 <= row.attributes < 128 and codec <= 4
        fits = row.record_count <= row.last_offset - row.base_offset + 1 and (
            codec != 0 or row.record_count * 7 <= row.size - 61
        )
        if known and fits and row.crc_valid and row.base_offset >= minimum_offset:
            return position
    return -1


def read_varint(data: bytes, position: int, end: int, bits: int) -> tuple[int, int]:
    """Read a zigzag varint; IndexError where it does not end in time."""
    value = 0
    for count in range((bits + 6) // 7):
        if position + count >= end:
            raise IndexError
        byte = data[position + count]
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            value &= (1 << bits) - 1
            return (value >> 1) ^ -(value & 1), position + count + 1
    raise IndexError


def wrap(value: int) -> int:
    return (value - SMALLEST) % 2**64 + SMALLEST


def read_section(data: bytes, start: int, end: int, index: int, batch: BatchRow) -> list[RecordRow]:
    """Decode the records of one batch that lie in `data[start:end]`. Raises BadRecordError."""
    records = []
    position = start
    for _ in range(batch.record_count):
        if position == end:
            raise BadRecordError(position, RecordFaultReason.COUNT)
        try:
            length, fields = read_varint(data, position, end, 32)
        except IndexError:
            raise BadRecordError(position, RecordFaultReason.LENGTH) from None
        if not 6 <= length <= end - fields:
            raise BadRecordError(position, RecordFaultReason.LENGTH)
        try:
            records.append(read_fields(data, fields, fields + length, index, batch))
        except IndexError:
            raise BadRecordError(position, RecordFaultReason.FIELDS) from None
        position = fields + length
    if position != end:
        raise BadRecordError(position, RecordFaultReason.COUNT)
    return records


def read_fields(data: bytes, start: int, end: int, index: int, batch: BatchRow) -> RecordRow:
    timestamp_delta, position = read_varint(data, start + 1, end, 64)
    offset_delta, position = read_varint(data, position, end, 32)
    key_start, key_length, position = read_nullable(data, position, end)
    value_start, value_length, position = read_nullable(data, position, end)
    count, headers_start = read_varint(data, position, end, 32)
    position = headers_start
    if count < 0:
        raise IndexError
    for _ in range(count):
        _, name_length, position = read_nullable(data, position, end)
        if name_length < 0:
            raise IndexError
        _, _, position = read_nullable(data, position, end)
    if position != end:
        raise IndexError
    timestamp = batch.max_timestamp if batch.attributes & 8 else wrap(batch.base_timestamp + timestamp_delta)
    offset = wrap(batch.base_offset + offset_delta)
    return RecordRow(index, offset, timestamp, key_start, key_length, value_start, value_length, headers_start, count)


def read_nullable(data: bytes, position: int, end: int) -> tuple[int, int, int]:
    length, position = read_varint(data, position, end, 32)
    if length > end - position:
        raise IndexError
    return position, max(length, -1), position + max(length, 0)


def check_section(data: bytes, start: int, end: int, batch: BatchRow) -> tuple[int, RecordFaultReason] | None:
    """Find the first fault of a batch's records."""
    try:
        records = read_section(data, start, end, 0, batch)
        fault = None
    except BadRecordError as error:
        fault = error.args
    # The records before a fault may be at fault themselves, for their offsets.
    sound = records if fault is None else sound_before(data, start, fault[0], batch)
    positions, previous = record_positions(data, start, len(sound)), -1
    for position, record in zip(positions, sound, strict=True):
        delta = wrap(record.offset - batch.base_offset)
        if not 0 <= delta <= batch.last_offset - batch.base_offset:
            return position, RecordFaultReason.OFFSET_RANGE
        if delta <= previous:
            return position, RecordFaultReason.OFFSET_ORDER
        previous = delta
    largest = max([-1, *(record.timestamp for record in sound)])
    if fault is None and records and not batch.attributes & 8 and largest != batch.max_timestamp:
        return start, RecordFaultReason.TIMESTAMP
    return fault


def sound_before(data: bytes, start: int, bad: int, batch: BatchRow) -> list[RecordRow]:
    for count in range(batch.record_count + 1):
        if record_positions(data, start, count + 1)[-1] == bad:
            return read_section(data, start, bad, 0, batch._replace(record_count=count))
    raise AssertionError("a fault lies where a record begins")


def record_positions(data: bytes, start: int, count: int) -> list[int]:
    positions, position = [], start
    for _ in range(count):
        positions.append(position)
        if len(positions) < count:
            length, fields = read_varint(data, position, len(data), 32)
            position = fields + length
    return positions


def objects(
    data: bytes, count: int, offsets: tuple[int, int], base_timestamp: int
) -> tuple[list[ReadRecord], int | None]:
    """Read the records that fill `data`, in order among `offsets`, from the first of them to the last.

    The number of the first that cannot be or is not in order, or of what follows them.
    """
    row = BatchRow(0, 0, offsets[0], 0, 0, 2, 0, base_timestamp, 0, 0, 0, 0, 0, 0, True)
    records: list[ReadRecord] = []
    position = 0
    for number in range(count):
        try:
            length, start = read_varint(data, position, len(data), 32)
            [read] = read_section(data, position, start + length, 0, row._replace(record_count=1))
        except (BadRecordError, IndexError):
            return records, number
        position = start + length
        if position > len(data):
            return records, number
        headers, at = [], read.headers_start
        for _ in range(read.header_count):
            key, at = read_part(data, at)
            content, at = read_part(data, at)
            headers.append((key, content))
        key = None if read.key_length < 0 else data[read.key_start :][: read.key_length]
        value = None if read.value_length < 0 else data[read.value_start :][: read.value_length]
        before = records[-1].offset if records else offsets[0] - 1
        if not before < read.offset <= offsets[1]:
            return records, number
        records.append(ReadRecord(read.offset, read.timestamp, key, value, headers))
    return records, None if position == len(data) else count


def read_part(data: bytes, position: int) -> tuple[bytes | None, int]:
    length, start = read_varint(data, position, len(data), 32)
    return (None, start) if length < 0 else (data[start : start + length], start + length)


def count_entries(index: bytes, slot: int) -> int:
    slots = [index[i : i + slot] for i in range(0, len(index) // slot * slot, slot)]
    while slots and not any(slots[-1]):
        slots.pop()
    return len(slots)


def floor(keys: Sequence[int], target: int) -> int:
    """Number of the last key that is not above the target in ascending keys, or -1."""
    return sum(key <= target for key in keys) - 1


def find_record(data: bytes, position: int, timestamp: int, offset: int) -> tuple[int, int, int, int]:
    """Position of the batch, timestamp, offset, leader epoch; offset -1 without any up to the position."""
    while position < len(data) and what_follows(data, position) is None:
        row = read_batch(data, position, check_crc=False)
        if row.max_timestamp >= timestamp:
            if row.attributes & 0xF:
                break
            try:
                found = first_record_from(data, row, timestamp, offset)
            except IndexError:
                break
            if found is not None:
                return position, *found, row.leader_epoch
        position += row.size
    return position, 0, -1, 0


def first_record_from(data: bytes, row: BatchRow, timestamp: int, offset: int) -> tuple[int, int] | None:
    """Timestamp and offset; IndexError where the records before it cannot be read."""
    position, end = row.position + 61, row.position + row.size
    for _ in range(row.record_count):
        length, start = read_varint(data, position, end, 32)
        if not 6 <= length <= end - start:
            raise IndexError
        position = start + length
        timestamp_delta, next_field = read_varint(data, start + 1, position, 64)
        offset_delta, _ = read_varint(data, next_field, position, 32)
        if offset_delta < 0:
            raise IndexError
        reached, at = wrap(row.base_timestamp + timestamp_delta), wrap(row.base_offset + offset_delta)
        if reached >= timestamp and at >= offset:
            return reached, at
    return None
