"""Walk over the headers of a log file's record batches, and find the next batch behind damage.

Header of a batch of magic 2 (61 bytes, big-endian): base offset i64 at 0, length i32 at 8, leader epoch i32 at 12,
magic i8 at 16, CRC u32 at 17, attributes i16 at 21, last offset delta i32 at 23, base timestamp i64 at 27, maximal
timestamp i64 at 35, producer id i64 at 43, producer epoch i16 at 51, base sequence i32 at 53, record count i32 at 57.
The length counts from the leader epoch on, the CRC covers everything from the attributes on.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.kernel import borrowed, inlined, kernel
from logstore.batch.columns import BatchColumns, StopReason
from logstore.kernels.bytes import Data, byte, int8, int16, int32, int64, read_only, uint32
from logstore.kernels.column_memory import ColumnMemory
from logstore.kernels.crc import crc32c
from logstore.kernels.prefetch import prefetch

CAPACITY = 8_192
"""Rows of one chunk of columns, unless more are asked for."""
CHUNK_BYTES = 1 << 26
"""Bytes after which a chunk of columns ends too, so that one can be worked on while the next is read."""

OVERHEAD = 12
"""Bytes before a batch's length counts: base offset and length."""
HEADER = 61
"""Bytes of a header of magic 2."""
SHORTEST = HEADER - OVERHEAD
"""The smallest length of magic 2: no records."""
PREFIX = 17
"""Bytes that all magics have in common, the magic byte included."""
SHORTEST_LEGACY = 14
"""The smallest length of magic 0: neither key nor value."""
SHORTEST_RECORD = 7
"""Bytes of a record without anything: its length, attributes, two deltas, key and value length, header count."""
CHECKED_FROM = 21
"""Where the bytes under the CRC begin."""
UNUSED_ATTRIBUTES = 0xFF80
CODEC = 0x7
LAST_CODEC = 4
LARGEST = 2**63 - 1

END = int(StopReason.END)
MORE = int(StopReason.MORE)
TORN = int(StopReason.TORN)
BAD_LENGTH = int(StopReason.BAD_LENGTH)
BAD_MAGIC = int(StopReason.BAD_MAGIC)
BAD_HEADER = int(StopReason.BAD_HEADER)
LEGACY = int(StopReason.LEGACY)
COMPLETE = -1
"""A whole batch of magic 2 follows."""

COLUMNS: dict[str, type[np.generic]] = {
    "position": np.int64,
    "size": np.int64,
    "base_offset": np.int64,
    "last_offset": np.int64,
    "leader_epoch": np.int32,
    "magic": np.int8,
    "attributes": np.int16,
    "base_timestamp": np.int64,
    "max_timestamp": np.int64,
    "producer_id": np.int64,
    "producer_epoch": np.int16,
    "base_sequence": np.int32,
    "record_count": np.int32,
    "crc": np.uint32,
    "crc_valid": np.bool_,
}
"""Columns of `BatchColumns` in the order in which `scan_batches` takes them."""

MEMORY = ColumnMemory(COLUMNS, CAPACITY)

AHEAD = 8
"""Batches by which memory is asked ahead, in the hope that they are all of one size."""

CRC_WORK = 16
"""How many times the bytes searched `find_next_batch` may checksum at most, however hostile they are."""


def scan(
    data: Data, position: int = 0, *, check_crc: bool, capacity: int = CAPACITY, chunk_bytes: int = CHUNK_BYTES
) -> BatchColumns:
    """Read the headers of consecutive batches from `position` (bytes) on.

    At most `capacity` of them, and as many as begin within `chunk_bytes`.

    With `check_crc` each batch's bytes are checked against its checksum; one that fails is a row like any other, with
    `crc_valid` false. The scan stops at the first position where no batch of magic 2 can be, and says why in `stop`.

        columns = scan(np.frombuffer(mapping, np.uint8), check_crc=True)
    """
    if not 0 <= position <= len(data):
        raise ValueError(f"Position {position} is not within the {len(data)} bytes given")
    chunk_bytes = min(chunk_bytes, len(data) - position)
    rows = max(1, min(capacity, chunk_bytes // HEADER + 1))
    memory = MEMORY if rows <= CAPACITY else ColumnMemory(COLUMNS, rows)
    columns = {name: column[:rows] for name, column in memory.take().items()}
    count, next_position, stop = scan_batches(
        read_only(data), position, len(data), position + chunk_bytes, check_crc, *columns.values()
    )
    filled = {name: column[:count] for name, column in columns.items()}
    return BatchColumns(**filled, next_position=next_position, stop=StopReason(stop))


def find_next_batch(data: Data, start: int, end: int, minimum_offset: int) -> int:
    """Find the first position from `start` on where a valid batch of magic 2 begins and ends before `end`; else -1.

    Valid is stricter here than in a scan, since any bytes may look like a header: the base offset is at least
    `minimum_offset`, the attributes are known ones, the records fit, and the CRC holds. Checksums are computed over at
    most 16 times the bytes searched; bytes made up of nothing but false headers find that limit, no real log does.
    """
    if not 0 <= start <= end <= len(data):
        raise ValueError(f"Positions {start} to {end} are not within the {len(data)} bytes given")
    budget = CRC_WORK * (end - start)
    found, _ = search_batch(read_only(data), start, end, end, minimum_offset, budget)
    return int(found)


@kernel
def scan_batches(
    data: Data,
    start: int,
    end: int,
    limit: int,
    check_crc: bool,
    position: NDArray[np.int64],
    size: NDArray[np.int64],
    base_offset: NDArray[np.int64],
    last_offset: NDArray[np.int64],
    leader_epoch: NDArray[np.int32],
    magic: NDArray[np.int8],
    attributes: NDArray[np.int16],
    base_timestamp: NDArray[np.int64],
    max_timestamp: NDArray[np.int64],
    producer_id: NDArray[np.int64],
    producer_epoch: NDArray[np.int16],
    base_sequence: NDArray[np.int32],
    record_count: NDArray[np.int32],
    crc: NDArray[np.uint32],
    crc_valid: NDArray[np.bool_],
) -> tuple[int, int, int]:
    """Fill the columns of `BatchColumns` from the batches in `data[start:end]` that begin before `limit`.

    Rows filled, next position, reason.
    """
    data = borrowed(data)
    at, row = start, 0
    while True:
        stop = what_follows(data, at, end)
        if stop != COMPLETE:
            return row, at, stop
        if row == position.size or at >= limit:
            return row, at, MORE
        whole = OVERHEAD + int32(data, at + 8)
        prefetch(data, at + AHEAD * whole)
        prefetch(data, at + AHEAD * whole + HEADER - 1)
        stored = uint32(data, at + 17)
        position[row] = at
        size[row] = whole
        base_offset[row] = int64(data, at)
        last_offset[row] = int64(data, at) + int32(data, at + 23)
        leader_epoch[row] = int32(data, at + 12)
        magic[row] = 2
        attributes[row] = int16(data, at + 21)
        base_timestamp[row] = int64(data, at + 27)
        max_timestamp[row] = int64(data, at + 35)
        producer_id[row] = int64(data, at + 43)
        producer_epoch[row] = int16(data, at + 51)
        base_sequence[row] = int32(data, at + 53)
        record_count[row] = int32(data, at + 57)
        crc[row] = stored
        crc_valid[row] = not check_crc or crc32c(data, at + CHECKED_FROM, at + whole) == stored
        at += whole
        row += 1


@inlined
def what_follows(data: Data, position: int, end: int) -> int:
    """Tell whether a whole batch of magic 2 follows, with a header that can be; else the reason to stop."""
    left = end - position
    if left < PREFIX:
        return END if left == 0 else TORN
    length = int32(data, position + 8)
    magic = int8(data, position + 16)
    if magic != 2:
        return what_else_follows(length, magic, left)
    if length < SHORTEST:
        return BAD_LENGTH
    if length > left - OVERHEAD:
        return TORN
    return COMPLETE if possible_header(data, position) else BAD_HEADER


@inlined
def what_else_follows(length: int, magic: int, left: int) -> int:
    """Tell why to stop at a magic that is not 2. Zeros, such as an unwritten tail, are a bad length of magic 0."""
    if magic < 0 or magic > 2:
        return BAD_MAGIC
    if length < SHORTEST_LEGACY:
        return BAD_LENGTH
    return TORN if length > left - OVERHEAD else LEGACY


@inlined
def possible_header(data: Data, position: int) -> bool:
    """Check what each batch of magic 2 has: offsets from 0 on that fit 64 bits, and a count that is not negative.

    Nothing ties the count to the offsets: compaction removes records, and leaves empty batches too.
    """
    base_offset = int64(data, position)
    last_offset_delta = int32(data, position + 23)
    record_count = int32(data, position + 57)
    return base_offset >= 0 and 0 <= last_offset_delta <= LARGEST - base_offset and record_count >= 0


@kernel
def search_batch(data: Data, start: int, limit: int, end: int, minimum_offset: int, budget: int) -> tuple[int, int]:
    """Do so for `find_next_batch`, below `limit`; return what was found, and what is left of `budget` (bytes)."""
    data = borrowed(data)
    for position in range(start, min(limit, end - HEADER + 1)):
        if byte(data, position + 16) != 2 or what_follows(data, position, end) != COMPLETE:
            continue
        whole = OVERHEAD + int32(data, position + 8)
        if whole > budget or int64(data, position) < minimum_offset or not plausible(data, position, whole):
            continue
        budget -= whole
        if crc32c(data, position + CHECKED_FROM, position + whole) == uint32(data, position + 17):
            return position, budget
    return -1, budget


@inlined
def plausible(data: Data, position: int, size: int) -> bool:
    """Check what every writer keeps and no scan insists on: known attributes, a count within offsets and bytes."""
    attributes = int16(data, position + 21)
    record_count = int32(data, position + 57)
    if attributes & UNUSED_ATTRIBUTES or attributes & CODEC > LAST_CODEC:
        return False
    if record_count > int32(data, position + 23) + 1:
        return False
    return attributes & CODEC != 0 or record_count <= (size - HEADER) // SHORTEST_RECORD
