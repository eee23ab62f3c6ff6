"""Walk over the headers of a log file's record batches, and find the next batch behind damage.

`logstore.batch.layout` says where the fields of a header stand.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, inlined, kernel
from epoch.history import MAX_OFFSET
from logstore.batch.batch_attributes import CODEC_BITS, KNOWN_BITS, LAST_CODEC
from logstore.batch.columns import StopReason
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
    SMALLEST_LENGTH,
    SMALLEST_MESSAGE,
)
from logstore.kernels.bytes import Data, byte, int8, int16, int32, int64, uint32
from logstore.kernels.crc import crc32c
from logstore.kernels.data import read_only
from logstore.kernels.prefetch import prefetch

PREFIX = MAGIC_AT + 1
"""Bytes that all magics have in common, the magic byte included."""
SHORTEST_LEGACY = SMALLEST_MESSAGE - LOG_OVERHEAD
"""The smallest length of magic 0: neither key nor value."""
SHORTEST_RECORD = 7
"""Bytes of a record without anything: its length, attributes, two deltas, key and value length, header count."""

END = int(StopReason.END)
MORE = int(StopReason.MORE)
TORN = int(StopReason.TORN)
BAD_LENGTH = int(StopReason.BAD_LENGTH)
BAD_MAGIC = int(StopReason.BAD_MAGIC)
BAD_HEADER = int(StopReason.BAD_HEADER)
LEGACY = int(StopReason.LEGACY)
COMPLETE = -1
"""A whole batch of magic 2 follows."""

AHEAD = 8
"""Batches by which memory is asked ahead, in the hope that they are all of one size."""

CRC_WORK = 16
"""How many times the bytes searched `find_next_batch` may checksum at most, however hostile they are."""


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
    rows: int,
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

    At most `rows` of them, for which there is room. Rows filled, next position, reason.
    """
    data = borrowed(data)
    at, row = start, 0
    while True:
        stop = what_follows(data, at, end)
        if stop != COMPLETE:
            return row, at, stop
        if row == rows or at >= limit:
            return row, at, MORE
        whole = LOG_OVERHEAD + int32(data, at + LENGTH_AT)
        prefetch(data, at + AHEAD * whole)
        prefetch(data, at + AHEAD * whole + HEADER_SIZE - 1)
        fill_row(
            data,
            at,
            row,
            base_offset,
            last_offset,
            leader_epoch,
            attributes,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            record_count,
            crc,
        )
        position[row] = at
        size[row] = whole
        magic[row] = MAGIC
        crc_valid[row] = not check_crc or crc32c(data, at + CRC_START, at + whole) == uint32(data, at + CRC_AT)
        at += whole
        row += 1


@inlined
def fill_row(
    data: Data,
    at: int,
    row: int,
    base_offset: NDArray[np.int64],
    last_offset: NDArray[np.int64],
    leader_epoch: NDArray[np.int32],
    attributes: NDArray[np.int16],
    base_timestamp: NDArray[np.int64],
    max_timestamp: NDArray[np.int64],
    producer_id: NDArray[np.int64],
    producer_epoch: NDArray[np.int16],
    base_sequence: NDArray[np.int32],
    record_count: NDArray[np.int32],
    crc: NDArray[np.uint32],
) -> None:
    """Fill the columns that hold fields of the header that stands at `at`."""
    base_offset[row] = int64(data, at)
    last_offset[row] = int64(data, at) + int32(data, at + LAST_OFFSET_DELTA_AT)
    leader_epoch[row] = int32(data, at + LEADER_EPOCH_AT)
    attributes[row] = int16(data, at + ATTRIBUTES_AT)
    base_timestamp[row] = int64(data, at + BASE_TIMESTAMP_AT)
    max_timestamp[row] = int64(data, at + MAX_TIMESTAMP_AT)
    producer_id[row] = int64(data, at + PRODUCER_ID_AT)
    producer_epoch[row] = int16(data, at + PRODUCER_EPOCH_AT)
    base_sequence[row] = int32(data, at + BASE_SEQUENCE_AT)
    record_count[row] = int32(data, at + RECORD_COUNT_AT)
    crc[row] = uint32(data, at + CRC_AT)


@inlined
def what_follows(data: Data, position: int, end: int) -> int:
    """Return whether a whole batch of magic 2 follows, with a valid header; else the reason to stop."""
    left = end - position
    if left < PREFIX:
        return END if left == 0 else TORN
    length = int32(data, position + LENGTH_AT)
    magic = int8(data, position + MAGIC_AT)
    if magic != MAGIC:
        return what_else_follows(length, magic, left)
    if length < SMALLEST_LENGTH:
        return BAD_LENGTH
    if length > left - LOG_OVERHEAD:
        return TORN
    return COMPLETE if possible_header(data, position) else BAD_HEADER


@inlined
def what_else_follows(length: int, magic: int, left: int) -> int:
    """Return why to stop at a magic that is not 2. Zeros, such as an unwritten tail, are a bad length of magic 0."""
    if magic < 0 or magic > MAGIC:
        return BAD_MAGIC
    if length < SHORTEST_LEGACY:
        return BAD_LENGTH
    return TORN if length > left - LOG_OVERHEAD else LEGACY


@inlined
def possible_header(data: Data, position: int) -> bool:
    """Check what each batch of magic 2 has: offsets from 0 on that fit 64 bits, and a count that is not negative.

    Nothing ties the count to the offsets: compaction removes records, and leaves empty batches too.
    """
    base_offset = int64(data, position)
    last_offset_delta = int32(data, position + LAST_OFFSET_DELTA_AT)
    record_count = int32(data, position + RECORD_COUNT_AT)
    return base_offset >= 0 and 0 <= last_offset_delta <= MAX_OFFSET - base_offset and record_count >= 0


@kernel
def search_batch(data: Data, start: int, limit: int, end: int, minimum_offset: int, budget: int) -> tuple[int, int]:
    """Search for `find_next_batch`, below `limit`; return what was found, and what is left of `budget` (bytes)."""
    data = borrowed(data)
    for position in range(start, min(limit, end - HEADER_SIZE + 1)):
        if byte(data, position + MAGIC_AT) != MAGIC or what_follows(data, position, end) != COMPLETE:
            continue
        whole = LOG_OVERHEAD + int32(data, position + LENGTH_AT)
        if whole > budget or int64(data, position) < minimum_offset or not plausible(data, position, whole):
            continue
        budget -= whole
        if crc32c(data, position + CRC_START, position + whole) == uint32(data, position + CRC_AT):
            return position, budget
    return -1, budget


@inlined
def plausible(data: Data, position: int, size: int) -> bool:
    """Check what every writer keeps and no scan insists on: known attributes, a count within offsets and bytes."""
    attributes = int16(data, position + ATTRIBUTES_AT)
    record_count = int32(data, position + RECORD_COUNT_AT)
    if attributes & ~KNOWN_BITS or attributes & CODEC_BITS > LAST_CODEC:
        return False
    if record_count > int32(data, position + LAST_OFFSET_DELTA_AT) + 1:
        return False
    return attributes & CODEC_BITS != 0 or record_count <= (size - HEADER_SIZE) // SHORTEST_RECORD
