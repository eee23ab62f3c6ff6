"""The common appends, recognised cheaply: batches that need little more than being written."""

from array import array
from struct import Struct
from typing import Any, Final

from epoch.compiling.awaited_kernel import PATIENCE, AwaitedKernel
from epoch.history import MAX_OFFSET
from logstore.append.append_info import AppendInfo
from logstore.append.encoding import EncodedBatch
from logstore.append.record_inspection import FEW_RECORDS, NO_RECORD, inspect_records
from logstore.append.sent_records import sent_records
from logstore.batch.batch_attributes import CODEC_BITS, NO_LEADER_EPOCH, NO_PRODUCER_ID
from logstore.batch.buffer import Buffer
from logstore.batch.layout import (
    CRC_START,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    RECORD_COUNT_AT,
    header_of,
)
from logstore.checksum import crc32c
from logstore.log_config import LogConfig

SEVERAL_BYTES: Final = 8 << 10
"""From so many on the compiled passes are worth their loading."""

_unpack: Final = header_of(
    "base_offset",
    "leader_epoch",
    "magic",
    "crc",
    "last_offset_delta",
    "max_timestamp",
    "producer_id",
    "record_count",
).unpack_from
_unpack_sent: Final = header_of(
    "base_offset",
    "magic",
    "crc",
    "attributes",
    "last_offset_delta",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "record_count",
).unpack_from
_LAST_ATTRIBUTES: Final = LAST_OFFSET_DELTA_AT - 1
"""The byte of the attributes that says how the records are compressed."""
unpack_int32: Final = Struct(">i").unpack_from
_NO_BYTES: Final = memoryview(b"")
_NOT_PLAIN: Final = (0, -1)
_PLACE: Final = header_of("base_offset", "length", "leader_epoch")
"""The first and the last is what a leader writes into a batch."""
# Half the cost of calling a NamedTuple's class, once an append.
_build: Final = tuple.__new__


def plain_batch(data: Buffer, next_offset: int, leader_epoch: int) -> AppendInfo | None:
    """Check the batch that `data` holds by its length; return None if it needs a closer look, valid or not.

    A plain batch is whole, of magic 2, of the epoch that leads already, of no idempotent producer, does not go back in
    offsets, and leaves one for the log's end. `data` must be bytes, one to an element.
    """
    base_offset, epoch, magic, checksum, delta, max_timestamp, producer_id, count = _unpack(data)
    if (
        magic != MAGIC
        or epoch != leader_epoch
        or producer_id != NO_PRODUCER_ID
        or base_offset < next_offset
        or not 0 <= delta < MAX_OFFSET - base_offset
        or count < 0
        or checksum != crc32c(memoryview(data)[CRC_START:])
    ):
        return None
    info: AppendInfo = _build(AppendInfo, (base_offset, base_offset + delta, max_timestamp, len(data), False))
    return info


def plain_producer_batch(
    data: Buffer, next_offset: int, leader_epoch: int, now_ms: int, config: LogConfig
) -> tuple[bytearray, AppendInfo] | None:
    """Check a producer's single batch and assign its offset and epoch; return None as `plain_batch` does.

    Such a batch keeps its codec and its producer's timestamps, and has no faults, if the log `accepts_unchanged`.

    Raises what `sent_records` raises.
    """
    size = len(data)
    if not HEADER_SIZE <= size <= config.max_message_bytes or unpack_int32(data, LENGTH_AT)[0] != size - LOG_OVERHEAD:
        return None
    codec = data[_LAST_ATTRIBUTES] & CODEC_BITS
    if codec and config.compression_type != "producer":
        return None
    few = size < SEVERAL_BYTES and unpack_int32(data, RECORD_COUNT_AT)[0] <= FEW_RECORDS
    # For few records the kernel is not worth its loading; where it is loaded it is the faster way for them too.
    kernel = None if codec else INSPECT_SENT.code if few else INSPECT_SENT.ready()
    inspect = kernel or _inspect_sent
    count, largest = inspect(
        data, now_ms, config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms
    )
    if not 0 < count <= MAX_OFFSET - next_offset:
        return None
    written = bytearray(data)
    _PLACE.pack_into(written, 0, next_offset, size - LOG_OVERHEAD, leader_epoch)
    return written, _build(AppendInfo, (next_offset, next_offset + count - 1, largest, size, False))


def own_batch(
    made: EncodedBatch, next_offset: int, leader_epoch: int, now_ms: int, config: LogConfig
) -> AppendInfo | None:
    """Assign offset and epoch to a batch without producer that was just encoded here: no need to look into it.

    None where it is too large or of another time than the log accepts, as `validate_for_leader` says. Where the batch
    is not written after all, `take_back_place` makes it one for any place again.
    """
    data, count, earliest, latest = made
    size = len(data)
    if (
        size > config.max_message_bytes
        or earliest < now_ms - config.message_timestamp_before_max_ms
        or latest > now_ms + config.message_timestamp_after_max_ms
        or count > MAX_OFFSET - next_offset
    ):
        return None
    _PLACE.pack_into(data, 0, next_offset, size - LOG_OVERHEAD, leader_epoch)
    info: AppendInfo = _build(AppendInfo, (next_offset, next_offset + count - 1, latest, size, False))
    return info


def take_back_place(made: EncodedBatch) -> None:
    """Undo what `own_batch` has assigned."""
    _PLACE.pack_into(made.data, 0, 0, len(made.data) - LOG_OVERHEAD, NO_LEADER_EPOCH)


def _inspect_sent(data: Buffer, now_ms: int, before_max_ms: int, after_max_ms: int) -> tuple[int, int]:
    """Do what the kernel of this name does, for compressed batches too. Raises what `sent_records` raises."""
    earliest, latest = now_ms - before_max_ms, now_ms + after_max_ms
    sent = memoryview(data).toreadonly()
    base_offset, magic, checksum, codec, delta, first, largest, producer_id, count = _unpack_sent(sent)
    if (
        magic != MAGIC
        or codec & ~CODEC_BITS
        or producer_id != NO_PRODUCER_ID
        or base_offset
        or count != delta + 1
        or checksum != crc32c(sent[CRC_START:])
    ):
        return _NOT_PLAIN
    section = sent_records(codec, sent[HEADER_SIZE:])
    found = inspect_records(section, count, first, earliest=earliest, latest=latest)
    sound = found.broken == found.untimely == NO_RECORD and found.max_timestamp == largest
    return (count, largest) if sound and (found.is_consecutive or not codec) else _NOT_PLAIN


def _load_follow() -> Any:
    from epoch.compiling.kernel import machine_code  # noqa: PLC0415  numba loads on the first bulk operation
    from logstore.kernels.follow import follow  # noqa: PLC0415  numba again

    return machine_code(follow, _NO_BYTES, *[0] * 8, array("q"))


def _load_append_one() -> Any:
    from epoch.compiling.kernel import machine_code  # noqa: PLC0415  numba again
    from logstore.kernels.follow import append_one  # noqa: PLC0415  numba again

    return machine_code(append_one, _NO_BYTES, *[0] * 6)


def _load_inspect_sent() -> Any:
    from epoch.compiling.kernel import machine_code  # noqa: PLC0415  numba again
    from logstore.kernels.inspect import inspect_sent  # noqa: PLC0415  numba again

    return machine_code(inspect_sent, _NO_BYTES, 0, 0, 0)


FOLLOW: Final = AwaitedKernel(_load_follow)
"""For several batches."""
APPEND_ONE: Final = AwaitedKernel(_load_append_one, patience=PATIENCE * SEVERAL_BYTES)
"""For one batch; its work is counted in bytes."""
INSPECT_SENT: Final = AwaitedKernel(_load_inspect_sent)
"""For a producer's batch."""
