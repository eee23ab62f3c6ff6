"""The appends that a log is given most often: they need little but writing, which is found out at small cost."""

from functools import cache
from struct import Struct
from typing import Any, Final, NamedTuple

import crc32c
import numpy as np
from numpy.typing import NDArray

from logstore.append_info import AppendInfo
from logstore.batch import CRC_START, HEADER_SIZE, LOG_OVERHEAD, MAX_OFFSET
from logstore.batch_attributes import NO_PRODUCER_ID
from logstore.log_config import LogConfig
from logstore.record_inspection import NO_RECORD, inspect_records
from logstore.time_index import TimeIndexEntry

Buffer = bytes | bytearray | memoryview

BULK_BYTES: Final = 64 << 10
"""From so many on the compiled pass is worth its loading."""

# Base offset, length, leader epoch, magic, checksum, last offset delta, largest timestamp, producer id, record count.
_HEADER: Final = Struct(">qiibIxxi8xqq6xi")
_unpack: Final = _HEADER.unpack_from
# Base offset, length, magic, checksum, attributes, last offset delta, base and largest timestamp, producer id, count.
_SENT: Final = Struct(">qi4xbIhiqqq6xi")
_PLACE: Final = Struct(">qii")
"""Base offset, length and leader epoch: the first and the last is what a leader writes into a batch."""
_checksum: Final = crc32c.crc32c
# Half the cost of calling a NamedTuple's class, once an append.
_build: Final = tuple.__new__


def plain_batch(data: Buffer, next_offset: int, leader_epoch: int) -> AppendInfo | None:
    """Look at the one batch that `data` is; None where it must be looked at closer, be it sound or not.

    A plain batch is whole, of magic 2, of the epoch that leads already, of no idempotent producer, and does not go back
    in offsets. `data` must be bytes, one to an element.
    """
    size = len(data)
    if size < HEADER_SIZE:
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

    Such a batch is uncompressed and stays so, keeps its producer's timestamps, and has no faults, where the log
    `takes_as_sent`.
    """
    size = len(data)
    if not HEADER_SIZE <= size <= config.max_message_bytes:
        return None
    view = memoryview(data).toreadonly()
    base_offset, length, magic, checksum, attributes, delta, first, largest, producer_id, count = _SENT.unpack_from(
        view
    )
    if (
        length != size - LOG_OVERHEAD
        or magic != 2
        or attributes
        or producer_id != NO_PRODUCER_ID
        or base_offset
        or not 0 < count == delta + 1 <= MAX_OFFSET - next_offset
        or checksum != _checksum(view[CRC_START:])
    ):
        return None
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    broken, _, untimely, max_timestamp, _, _ = inspect_records(
        view[HEADER_SIZE:], count, first, earliest=earliest, latest=latest
    )
    if broken != NO_RECORD or untimely != NO_RECORD or max_timestamp != largest:
        return None
    written = bytearray(view)
    _PLACE.pack_into(written, 0, next_offset, length, leader_epoch)
    return written, _build(AppendInfo, (next_offset, next_offset + delta, largest, size, False))


class IndexedBatches(NamedTuple):
    """Plain batches, and what they add to the indexes of the segment that they are appended to."""

    info: AppendInfo
    slots: NDArray[np.int64]
    """Entries of the offset index, as `LiveOffsetIndex` keeps them."""
    timestamps: NDArray[np.int64]
    """The segment's largest timestamp at each of these, and its offset."""
    offsets: NDArray[np.int64]
    indexed: int
    """Where the batch of the last entry begins."""
    largest: TimeIndexEntry


def plain_batches(
    data: Buffer,
    next_offset: int,
    leader_epoch: int,
    *,
    base_offset: int,
    position: int,
    indexed: int,
    interval: int,
    largest: TimeIndexEntry,
) -> IndexedBatches | None:
    """Do as `plain_batch` does for any number of batches; the rest is what `LiveSegment` knows of a segment."""
    columns = np.empty((3, len(data) // (interval + 1) + 1), np.int64)
    slots, timestamps, offsets = columns
    rows, last_offset, max_timestamp, indexed, *reached = _follow()(
        np.frombuffer(memoryview(data).toreadonly(), np.uint8),
        next_offset,
        leader_epoch,
        base_offset,
        position,
        indexed,
        interval,
        *largest,
        slots,
        timestamps,
        offsets,
    )
    if rows < 0:
        return None
    first_offset = int.from_bytes(data[:8], "big")
    info = AppendInfo(first_offset, last_offset, max_timestamp, len(data))
    return IndexedBatches(info, slots[:rows], timestamps[:rows], offsets[:rows], indexed, TimeIndexEntry(*reached))


@cache
def _follow() -> Any:
    """Load the kernel: an import statement at each append would cost as much as a batch."""
    from logstore.kernels.follow import follow  # noqa: PLC0415  numba loads on the first bulk operation

    return follow
