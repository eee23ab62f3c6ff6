"""Validates an append, and returns the bytes that the log then writes (Kafka: LogValidator)."""

from __future__ import annotations

from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from epoch.compiling.awaited_kernel import AwaitedKernel
from epoch.history import MAX_OFFSET
from logstore import batch as formats
from logstore.append.record_inspection import NO_RECORD, RecordInspection, inspect_records, renumber_records
from logstore.append.sent_records import sent_records
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import (
    CODEC_BITS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    TimestampType,
)
from logstore.batch.batches import read_batch, read_batches
from logstore.batch.compression.codec import Codec
from logstore.batch.compression.decompression_limit import MOST_HEADERS
from logstore.batch.layout import (
    ATTRIBUTES_AT,
    HEADER_SIZE,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    seal,
)
from logstore.errors import (
    CorruptBatchError,
    InvalidBatchHeaderError,
    InvalidRecordError,
    InvalidTimestampError,
    OffsetsOutOfOrderError,
    RecordTooLargeError,
    TornBatchError,
    UnexpectedAppendOffsetError,
)
from logstore.log_config import MAX_INT64, LogConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from logstore.batch.any_batch import Batch
    from logstore.batch.batch_template import BatchTemplate
    from logstore.batch.buffer import Buffer

_INT64: Final = Struct(">q")
_INT32: Final = Struct(">i")
_INT16: Final = Struct(">h")
_KNOWN_ATTRIBUTES: Final = CODEC_BITS | TIMESTAMP_TYPE_BIT | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT
BULK_BYTES: Final = 64 << 10
"""From so many on the compiled checksum is worth its loading."""
_ANY_TIME: Final = (-MAX_INT64 - 1, MAX_INT64)
_CODECS: Final = {codec.name.lower(): codec for codec in Codec if codec} | {"uncompressed": Codec.NONE}


class ValidatedAppend(NamedTuple):
    """What is to be written, batch by batch (Kafka: LogAppendInfo)."""

    data: memoryview
    batches: tuple[Batch, ...]
    """Headers as they will be on disk; their positions are bytes from the start of `data`. None: nothing to write."""
    max_timestamp: int
    """The largest of all records, in milliseconds since 1970 UTC; -1 without any."""

    @property
    def first_offset(self) -> int:
        """The first record's offset; of a message set of magic 0 or 1 the first message's last (Kafka does so)."""
        first = self.batches[0]
        offset: int = first.base_offset if first.magic == MAGIC else first.last_offset
        return offset

    @property
    def last_offset(self) -> int:
        """The last record's offset: the log's end is one more."""
        last: int = self.batches[-1].last_offset
        return last


_NOTHING: Final = ValidatedAppend(memoryview(b""), (), NO_TIMESTAMP)


def validate_for_leader(
    data: Buffer,
    *,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    config: LogConfig,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> ValidatedAppend:
    """Check one batch as a producer sends it, and give it its offsets, epoch, times and codec; `data` stays as it is.

    An incomplete batch is dropped. Raises CorruptBatchError, InvalidRecordError, InvalidTimestampError,
    RecordTooLargeError and DecompressionError; TypeError if the origin is no AppendOrigin.
    """
    batch = _only_batch(memoryview(data).toreadonly(), config.max_message_bytes, origin)
    if batch is None:
        return _NOTHING
    if origin is AppendOrigin.CLIENT:
        _check_client_header(batch)
    elif not isinstance(origin, AppendOrigin):
        raise TypeError(f"the origin is {origin!r}: pass AppendOrigin.CLIENT or another of `AppendOrigin`")
    _ensure_end(next_offset + batch.last_offset - batch.base_offset, batch.position)
    source = batch.attributes & CODEC_BITS
    section = sent_records(source, batch.data[batch.position + HEADER_SIZE : batch.position + batch.size])
    target = source if config.compression_type == "producer" else _CODECS[config.compression_type]
    # Kafka writes its own control records as they are.
    target = source if batch.attributes & CONTROL_BIT and not source else target
    inspection = _inspect(batch, section, now_ms, config)
    append_time = now_ms if config.message_timestamp_type is TimestampType.LOG_APPEND_TIME else None
    if source == target and (inspection.is_consecutive or not source):
        max_timestamp = inspection.max_timestamp if append_time is None else append_time
        written = _patch(batch, next_offset, leader_epoch, max_timestamp, append_time=append_time is not None)
    else:
        template = _template(batch, next_offset, leader_epoch, target, append_time, config.compression_level)
        written = _rebuild(batch, section, inspection, template)
        _check_size(len(written), config.max_message_bytes)
    view = memoryview(written).toreadonly()
    stamped = RecordBatch(view)
    return ValidatedAppend(view, (stamped,), stamped.max_timestamp)


def validate_for_follower(data: Buffer, *, next_offset: int, leader_epoch: int) -> ValidatedAppend:
    """Check batches as fetched from a leader of `leader_epoch`; they are written unchanged.

    An incomplete batch at the end is dropped, and so is everything from the first batch of a higher epoch on
    (KAFKA-18723). Raises CorruptBatchError, OffsetsOutOfOrderError, UnexpectedAppendOffsetError, and InvalidRecordError
    at the last offset.
    """
    view = memoryview(data).toreadonly()
    single = _single_batch(view)
    if single is not None and single.leader_epoch <= leader_epoch and single.base_offset >= next_offset:
        single.ensure_valid()
        _ensure_end(single.last_offset, single.position)
        return ValidatedAppend(view, (single,), single.max_timestamp)
    batches: list[Batch] = []
    last_offset = -1
    with suppress(TornBatchError):
        for batch in read_batches(view):
            if batch.leader_epoch > leader_epoch:
                break
            batches.append(batch)
            # A message of before Kafka 0.11 says only where it ends.
            if (batch.base_offset if batch.magic == MAGIC else batch.last_offset) <= last_offset:
                _ensure_valid(view, batches)
                raise _out_of_order(batch, last_offset)
            last_offset = batch.last_offset
    _ensure_valid(view, batches)
    if batches:
        _ensure_end(last_offset, batches[-1].position)
    end = batches[-1].position + batches[-1].size if batches else 0
    max_timestamp = max((batch.max_timestamp for batch in batches), default=NO_TIMESTAMP)
    append = ValidatedAppend(view[:end], tuple(batches), max_timestamp)
    if batches and append.first_offset < next_offset:
        raise UnexpectedAppendOffsetError(
            f"the batches begin below the log's end, {next_offset:,}",
            offset=append.first_offset,
            advice="fetch from the log's end on, or truncate the log first",
        )
    return append


def _ensure_end(last_offset: int, position: int) -> None:
    """Raise unless the log can end after this offset."""
    if last_offset >= MAX_OFFSET:
        raise InvalidRecordError(
            f"the batch would end at offset {last_offset:,}, and a log ends at {MAX_OFFSET:,} at most",
            position=position,
            advice="continue the log at a lower offset with `truncate_fully_and_start_at`, once its records are read",
        )


def _single_batch(view: memoryview) -> RecordBatch | None:
    """Return the batch that is all of `view`: what a busy follower is given most often, at half the cost."""
    if (
        len(view) < HEADER_SIZE
        or len(view) != _INT32.unpack_from(view, LENGTH_AT)[0] + LOG_OVERHEAD
        or view[MAGIC_AT] != MAGIC
    ):
        return None
    return RecordBatch(view)


def _out_of_order(batch: Batch, last_offset: int) -> OffsetsOutOfOrderError:
    return OffsetsOutOfOrderError(
        f"a batch with offsets {batch.base_offset:,} to {batch.last_offset:,} follows one up to {last_offset:,}",
        position=batch.position,
        advice="the leader's log is damaged here, or the bytes were put together in the wrong order",
    )


def _ensure_valid(view: memoryview, batches: list[Batch]) -> None:
    """Check the checksums of batches that follow each other from the start of `view` on."""
    size = batches[-1].position + batches[-1].size if batches else 0
    is_small = size < BULK_BYTES or any(batch.magic != MAGIC for batch in batches)
    first_corrupt = None if is_small else FIRST_CORRUPT.ready()
    if first_corrupt is None:
        for batch in batches:
            batch.ensure_valid()
        return
    corrupt = first_corrupt(view, size)
    for batch in batches:
        if batch.position == corrupt:
            batch.ensure_valid()


def _load_first_corrupt() -> Callable[[memoryview, int], int]:
    import numpy as np  # noqa: PLC0415  numba loads on the first bulk operation

    from logstore.kernels.inspect import first_corrupt  # noqa: PLC0415  numba again

    def first_corrupt_of(view: memoryview, size: int) -> int:
        return first_corrupt(np.frombuffer(view.toreadonly(), np.uint8), 0, size)

    first_corrupt_of(memoryview(b""), 0)
    return first_corrupt_of


FIRST_CORRUPT: Final = AwaitedKernel(_load_first_corrupt)


def _next_batch(view: memoryview, position: int) -> Batch | None:
    """Read the next whole batch, or None."""
    if position == len(view):
        return None
    try:
        return read_batch(view, position)
    except TornBatchError:
        return None


def _only_batch(view: memoryview, max_bytes: int, origin: AppendOrigin) -> RecordBatch | None:
    """Return the single batch, with its checksum and size verified."""
    try:
        batch = _next_batch(view, 0)
    except InvalidBatchHeaderError as error:
        raise _refused_header(view, error, max_bytes) from error
    if batch is None:
        return None
    if not isinstance(batch, RecordBatch):
        raise InvalidRecordError(
            f"the batch has magic {batch.magic}", advice="producers send magic 2 since Kafka 0.11: upgrade the client"
        )
    if origin is AppendOrigin.CLIENT and batch.base_offset:
        raise InvalidRecordError(f"a producer's batch has base offset {batch.base_offset:,}, and must have 0")
    _check_size(batch.size, max_bytes)
    batch.ensure_valid()
    if _next_batch(view, batch.size) is not None:
        raise InvalidRecordError("another batch follows the first", position=batch.size, advice="append one at a time")
    return batch


def _refused_header(
    view: memoryview, error: InvalidBatchHeaderError, max_bytes: int
) -> CorruptBatchError | InvalidRecordError | RecordTooLargeError:
    """Distinguish a damaged header from one that was written so: the latter's checksum, if it has one, matches.

    The base offset and the size are looked at before that, as in Kafka.
    """
    size = int.from_bytes(view[LENGTH_AT:LOG_OVERHEAD], "big", signed=True) + LOG_OVERHEAD
    if not MAGIC_AT < size <= len(view) or view[MAGIC_AT] != MAGIC:
        return error
    if any(view[:LENGTH_AT]):
        return InvalidRecordError(error.what)
    if size > max_bytes:
        return _too_large(size, max_bytes)
    if size < HEADER_SIZE:
        return error
    sealed = bytearray(view[:size])
    seal(sealed)
    return InvalidRecordError(error.what) if sealed == view[:size] else error


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise _too_large(size, max_bytes)


def _too_large(size: int, max_bytes: int) -> RecordTooLargeError:
    return RecordTooLargeError(
        f"a batch has {size:,} bytes",
        advice=f"send smaller batches, or raise max_message_bytes, {max_bytes:,} now",
    )


def _check_client_header(batch: RecordBatch) -> None:
    offsets = batch.last_offset - batch.base_offset + 1
    if offsets != batch.record_count:
        raise InvalidRecordError(f"the batch counts {batch.record_count:,} records and has {offsets:,} offsets")
    if batch.attributes & CONTROL_BIT:
        raise InvalidRecordError("a client sends control records", advice="only Kafka's own servers write those")
    if batch.producer_id != NO_PRODUCER_ID and batch.base_sequence < 0:
        raise InvalidRecordError(
            f"producer {batch.producer_id} sends sequence number {batch.base_sequence}", advice="they begin with 0"
        )


def _inspect(batch: RecordBatch, section: memoryview, now_ms: int, config: LogConfig) -> RecordInspection:
    """Check the records; raise for the first invalid one: structure first, then keys and timestamps."""
    producer_time = config.message_timestamp_type is TimestampType.CREATE_TIME
    earliest, latest = (
        (now_ms - config.message_timestamp_before_max_ms, now_ms + config.message_timestamp_after_max_ms)
        if producer_time
        else _ANY_TIME
    )
    found = inspect_records(section, batch.record_count, batch.base_timestamp, earliest=earliest, latest=latest)
    if found.broken != NO_RECORD:
        raise InvalidRecordError(
            f"record {found.broken} of {batch.record_count} cannot be read, or has more than {MOST_HEADERS:,} headers"
        )
    stamped = bool(batch.attributes & TIMESTAMP_TYPE_BIT)
    if stamped:
        found = _stamped(found, batch.max_timestamp, earliest, latest)
    if found.untimely != NO_RECORD:
        raise InvalidTimestampError(
            f"the timestamp of record {found.untimely} is not within {earliest:,} to {latest:,}",
            advice="set the producer's clock, or message_timestamp_before_max_ms and message_timestamp_after_max_ms",
        )
    if stamped and (not producer_time or batch.max_timestamp == NO_TIMESTAMP):
        raise InvalidTimestampError("the producer sets LogAppendTime", advice="leave that to the leader")
    if found.keyless != NO_RECORD and "compact" in config.cleanup_policy:
        raise InvalidRecordError(f"record {found.keyless} has no key", advice="compaction works by key: set one")
    return found


def _stamped(found: RecordInspection, timestamp: int, earliest: int, latest: int) -> RecordInspection:
    """Correct an inspection for a batch whose records all have the batch's time."""
    untimely = timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest
    return found._replace(untimely=0 if untimely else NO_RECORD, max_timestamp=timestamp)


def _patch(
    batch: RecordBatch, next_offset: int, leader_epoch: int, max_timestamp: int, *, append_time: bool
) -> bytearray:
    """Copy the batch and change its header; the checksum only where what it covers changes."""
    data = bytearray(batch.data[batch.position : batch.position + batch.size])
    _INT64.pack_into(data, 0, next_offset)
    _INT32.pack_into(data, LEADER_EPOCH_AT, leader_epoch)
    if bool(batch.attributes & TIMESTAMP_TYPE_BIT) != append_time or batch.max_timestamp != max_timestamp:
        attributes = batch.attributes & _KNOWN_ATTRIBUTES & ~TIMESTAMP_TYPE_BIT
        _INT16.pack_into(data, ATTRIBUTES_AT, attributes | (TIMESTAMP_TYPE_BIT if append_time else 0))
        _INT64.pack_into(data, MAX_TIMESTAMP_AT, max_timestamp)
        seal(data)
    return data


def _template(
    batch: RecordBatch,
    next_offset: int,
    leader_epoch: int,
    codec: int,
    append_timestamp: int | None,
    compression_level: int | None,
) -> BatchTemplate:
    return formats.batch_template.BatchTemplate(
        base_offset=next_offset,
        leader_epoch=leader_epoch,
        codec=Codec(codec),
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        append_timestamp=append_timestamp,
        compression_level=compression_level,
    )


def _rebuild(
    batch: RecordBatch, section: memoryview, inspection: RecordInspection, template: BatchTemplate
) -> bytearray:
    """Compress the records again, with deltas from 0 on."""
    base_timestamp = batch.base_timestamp + inspection.first_delta
    stamped = bool(batch.attributes & TIMESTAMP_TYPE_BIT)
    if stamped:
        base_timestamp = batch.max_timestamp
    content: bytes | memoryview = section
    if stamped or inspection.first_delta or not inspection.is_consecutive:
        content = renumber_records(section, batch.record_count, same_time=stamped)
    return template.batch(content, batch.record_count, base_timestamp, inspection.max_timestamp)
