"""The kernels of digests that show whether copies of a log hold the same: of batches by range, and of records' fields.

They find accidents, not forgeries: whoever chooses the bytes can make other ones with equal digests.
"""

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, inlined, kernel
from logstore.batch.columns import RecordColumns
from logstore.kernels.batch_digest import (
    BATCHES,
    BYTES,
    FIELDS,
    FIRST_OFFSET,
    FIRST_SUM,
    LAST_OFFSET,
    RANGE,
    RECORDS,
    SECOND_SUM,
)
from logstore.kernels.bytes import Data, byte, little_endian_uint64
from logstore.kernels.decode import skip_headers

FIRST_SEED = np.uint64(0x9E3779B97F4A7C15)
SECOND_SEED = np.uint64(0xC2B2AE3D27D4EB4F)

Sums = NDArray[np.uint64]


def digest_keys(records: RecordColumns) -> tuple[Sums, Sums]:
    """Return two independent digests of each record's key. A null key is not an empty one."""
    return digest_key(records, FIRST_SEED), digest_key(records, SECOND_SEED)


def digest_key(records: RecordColumns, seed: np.uint64 = FIRST_SEED) -> Sums:
    """Return one digest of each record's key. A null key is not an empty one."""
    digests = np.empty(len(records), np.uint64)
    digest_fields(
        records.data,
        np.ascontiguousarray(records.key_start),
        np.ascontiguousarray(records.key_length),
        seed,
        digests,
    )
    return digests


def digest_contents(records: RecordColumns) -> Sums:
    """Return a digest of each record's timestamp, key, value and headers."""
    contents = np.empty(len(records), np.uint64)
    digest_records(
        records.data,
        records.timestamp,
        records.key_start,
        records.key_length,
        records.value_start,
        records.value_length,
        records.headers_start,
        records.header_count,
        contents,
    )
    return contents


@kernel
def digest_batches(
    base_offset: NDArray[np.int64],
    last_offset: NDArray[np.int64],
    leader_epoch: NDArray[np.int32],
    size: NDArray[np.int64],
    magic: NDArray[np.int8],
    crc: NDArray[np.uint32],
    record_count: NDArray[np.int32],
    range_bits: int,
    ranges: NDArray[np.int64],
) -> int:
    """Fill one row of `FIELDS` a run, one after the other; return how many. There is room for one each batch."""
    runs = 0
    start = -len(FIELDS)
    for row in range(base_offset.size):
        number = base_offset[row] >> range_bits
        if runs == 0 or ranges[start + RANGE] != number:
            start += len(FIELDS)
            ranges[start + RANGE] = number
            ranges[start + FIRST_SUM : start + BYTES + 1] = 0
            ranges[start + FIRST_OFFSET], ranges[start + LAST_OFFSET] = base_offset[row], last_offset[row]
            runs += 1
        of_first, of_second = FIRST_SEED, SECOND_SEED
        for value in (
            np.uint64(base_offset[row]),
            np.uint64(last_offset[row] - base_offset[row]) << np.uint64(32) ^ np.uint64(np.int64(leader_epoch[row])),
            np.uint64(size[row]) << np.uint64(8) ^ np.uint64(np.int64(magic[row])),
            np.uint64(np.int64(record_count[row])) << np.uint64(32) ^ np.uint64(np.int64(crc[row])),
        ):
            of_first = mixed(of_first ^ value)
            of_second = mixed(of_second + value)
        ranges[start + FIRST_SUM] += np.int64(of_first)
        ranges[start + SECOND_SUM] += np.int64(of_second)
        ranges[start + BATCHES] += 1
        ranges[start + RECORDS] += np.int64(record_count[row])
        ranges[start + BYTES] += size[row]
        ranges[start + FIRST_OFFSET] = min(ranges[start + FIRST_OFFSET], base_offset[row])
        ranges[start + LAST_OFFSET] = max(ranges[start + LAST_OFFSET], last_offset[row])
    return runs


@kernel
def digest_fields(
    data: Data, starts: NDArray[np.int64], lengths: NDArray[np.int32], seed: np.uint64, digests: Sums
) -> None:
    """Digest one field of each record, which lies within the data; a length of -1 is null."""
    data = borrowed(data)
    for row in range(starts.size):
        digests[row] = digest_bytes(data, starts[row], int(np.int64(lengths[row])), seed)


@kernel
def digest_records(
    data: Data,
    timestamp: NDArray[np.int64],
    key_start: NDArray[np.int64],
    key_length: NDArray[np.int32],
    value_start: NDArray[np.int64],
    value_length: NDArray[np.int32],
    headers_start: NDArray[np.int64],
    header_count: NDArray[np.int32],
    digests: Sums,
) -> None:
    """Digest all that a producer gave to each record."""
    data = borrowed(data)
    for row in range(timestamp.size):
        content = mixed(FIRST_SEED ^ np.uint64(timestamp[row]))
        content = digest_bytes(data, key_start[row], int(np.int64(key_length[row])), content)
        content = digest_bytes(data, value_start[row], int(np.int64(value_length[row])), content)
        if header_count[row] != 0:
            end = skip_headers(data, headers_start[row], data.size, header_count[row])
            content = digest_bytes(data, headers_start[row], end - headers_start[row], content)
        digests[row] = content


@inlined
def digest_bytes(data: Data, start: int, length: int, seed: np.uint64) -> np.uint64:
    """Mix bytes into `seed`, eight at a time, and their length, -1 for null."""
    digested = mixed(seed ^ np.uint64(np.int64(length)))
    position, end = start, start + max(length, 0)
    while end - position >= 8:
        digested = mixed(digested ^ little_endian_uint64(data, position))
        position += 8
    rest = np.uint64(0)
    while position < end:
        rest = rest << np.uint64(8) | np.uint64(byte(data, position))
        position += 1
    return mixed(digested ^ rest)


@inlined
def mixed(value: np.uint64) -> np.uint64:
    """Mix 64 bits so that each depends on every other one (the finalizer of splitmix64)."""
    value = (value ^ value >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ value >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return value ^ value >> np.uint64(31)
