"""The appends that a log is given most often: they need little but writing, which is found out at small cost."""

from functools import cache
from struct import Struct
from typing import Any, Final

import crc32c

from logstore.append_info import AppendInfo
from logstore.batch import CRC_START, HEADER_SIZE, LOG_OVERHEAD, MAX_OFFSET
from logstore.batch_attributes import CODEC_BITS, NO_PRODUCER_ID
from logstore.codec import decompress
from logstore.log_config import LogConfig
from logstore.record_inspection import FEW_RECORDS, NO_RECORD, inspect_records

Buffer = bytes | bytearray | memoryview

SEVERAL_BYTES: Final = 8 << 10
"""For several batches of so many bytes the compiled pass is worth its loading, and for the records of one."""
BULK_BYTES: Final = 32 << 10
"""For one that a follower is given only from so many on."""

# Base offset, length, leader epoch, magic, checksum, last offset delta, largest timestamp, producer id, record count.
_HEADER: Final = Struct(">qiibIxxi8xqq6xi")
_unpack: Final = _HEADER.unpack_from
# Base offset, length, magic, checksum, attributes, last offset delta, base and largest timestamp, producer id, count.
_SENT: Final = Struct(">qi4xbIhiqqq6xi")
_ATTRIBUTES_END: Final = 22
_COUNT: Final = slice(57, 61)
_NOT_PLAIN: Final = (0, -1)
_PLACE: Final = Struct(">qii")
"""Base offset, length and leader epoch: the first and the last is what a leader writes into a batch."""
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_checksum: Final = crc32c.crc32c
# Half the cost of calling a NamedTuple's class, once an append.
_build: Final = tuple.__new__


def plain_batch(data: Buffer, next_offset: int, leader_epoch: int) -> AppendInfo | None:
    """Look at the one batch that `data` is; None where it is large or must be looked at closer, be it sound or not.

    A plain batch is whole, of magic 2, of the epoch that leads already, of no idempotent producer, and does not go back
    in offsets. `data` must be bytes, one to an element.
    """
    size = len(data)
    if not HEADER_SIZE <= size < BULK_BYTES:
        return None
    base_offset, length, epoch, magic, checksum, delta, max_timestamp, producer_id, count = _unpack(data)
    if (
        length != size - LOG_OVERHEAD
        or magic != 2
        or epoch != leader_epoch
        or producer_id != NO_PRODUCER_ID
        or base_offset < next_offset
        or not 0 <= delta <= MAX_OFFSET - base_offset
        or count < 0
        or checksum != _checksum(memoryview(data)[CRC_START:])
    ):
        return None
    info: AppendInfo = _build(AppendInfo, (base_offset, base_offset + delta, max_timestamp, size, False))
    return info


def plain_producer_batch(
    data: Buffer, next_offset: int, leader_epoch: int, now_ms: int, config: LogConfig
) -> tuple[bytearray, AppendInfo] | None:
    """Look at the one batch that a producer sends, and give it offset and epoch; None as `plain_batch` does.

    Such a batch keeps its codec and its producer's timestamps, and has no faults, where the log `takes_as_sent`. Raises
    DecompressionError.
    """
    size = len(data)
    if not HEADER_SIZE <= size <= config.max_message_bytes:
        return None
    view = memoryview(data).toreadonly()
    codec = view[_ATTRIBUTES_END] & CODEC_BITS
    if codec and config.compression_type != "producer":
        return None
    earliest = max(now_ms - config.message_timestamp_before_max_ms, _INT64_MIN)
    latest = min(now_ms + config.message_timestamp_after_max_ms, _INT64_MAX)
    few = size < SEVERAL_BYTES and int.from_bytes(view[_COUNT]) <= FEW_RECORDS
    inspect = _inspect_sent if codec or few else _inspect_kernel()
    count, largest = inspect(view, earliest, latest)
    if not 0 < count <= MAX_OFFSET - next_offset:
        return None
    written = bytearray(view)
    _PLACE.pack_into(written, 0, next_offset, size - LOG_OVERHEAD, leader_epoch)
    return written, _build(AppendInfo, (next_offset, next_offset + count - 1, largest, size, False))


def _inspect_sent(sent: memoryview, earliest: int, latest: int) -> tuple[int, int]:
    """Do as the kernel of this name does, and also look into compressed batches. Raises DecompressionError."""
    base_offset, length, magic, checksum, codec, delta, first, largest, producer_id, count = _SENT.unpack_from(sent)
    if (
        length != len(sent) - LOG_OVERHEAD
        or magic != 2
        or codec & ~CODEC_BITS
        or producer_id != NO_PRODUCER_ID
        or base_offset
        or count != delta + 1
        or checksum != _checksum(sent[CRC_START:])
    ):
        return _NOT_PLAIN
    section = sent[HEADER_SIZE:]
    if codec:
        section = memoryview(decompress(codec, section))
    found = inspect_records(section, count, first, earliest=earliest, latest=latest)
    sound = found.broken == found.untimely == NO_RECORD and found.max_timestamp == largest
    return (count, largest) if sound and (found.is_consecutive or not codec) else _NOT_PLAIN


@cache
def follow_kernel() -> Any:
    """Load the kernel for several batches: an import statement at each append would cost as much as a batch."""
    from logstore.kernels.follow import follow  # noqa: PLC0415  numba loads on the first bulk operation

    return follow


@cache
def _inspect_kernel() -> Any:
    """Load the kernel for a producer's batch."""
    from logstore.kernels.inspect import inspect_sent  # noqa: PLC0415  numba again

    return inspect_sent
