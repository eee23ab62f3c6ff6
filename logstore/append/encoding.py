"""Batches of magic 2 as producers build them, any codec: from records, from lists of bytes, from columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import error as StructError  # noqa: N812  a class
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from epoch.compiling.awaited_kernel import AwaitedKernel
from epoch.history import MAX_EPOCH, MAX_OFFSET
from logstore import append
from logstore import batch as formats
from logstore.append.value_batch import encode_value_batch
from logstore.append.wrong_records import with_records_of_values, wrong_records
from logstore.arguments import number_within
from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.batch.record_encoder import encode_plain_values, encode_records
from logstore.clock import now_ms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from logstore.batch.batch_template import BatchTemplate
    from logstore.batch.columns import RecordColumns
    from logstore.batch.control import EndTransactionMarker
    from logstore.kernels.encode import Encoder

BATCH_BYTES: Final = 16 << 10
"""Bytes that a batch of several records has at most before compression (Kafka: batch.size)."""
_MAX_INT16: Final = 2**15 - 1
_MAX_INT32: Final = 2**31 - 1
_MAX_INT64: Final = 2**63 - 1
_BYTES_ALONE: Final = {bytes}
# Half the cost of calling a NamedTuple's class, once an append.
_build: Final = tuple.__new__


class EncodedBatch(NamedTuple):
    """A batch that was made here, and what of its records a leader would have to look for."""

    data: bytearray
    records: int
    min_timestamp: int
    max_timestamp: int


def encode_batch(records: Sequence[Record | bytes], template: BatchTemplate | None = None) -> bytearray:
    """Encode one batch. The records get consecutive offsets from the template's on; their own offsets are ignored.

    Bytes are the value of a record without key and headers, written now: the fastest way to many of them. Raises
    ValueError if there are no records or a timestamp is below -1, and TypeError for other elements.

    >>> data = encode_batch([Record.of(b"value", "key"), b"value"], BatchTemplate(codec=Codec.ZSTD))
    """
    return encode(records, template).data


def encode_copied(records: Sequence[Record], template: BatchTemplate) -> bytearray:
    """Encode records that another log has, with whatever times: Kafka's brokers take those from before 1970, too.

    Raises ValueError if there are none.
    """
    if not records:
        raise ValueError("a batch without records cannot be appended")
    times = [record.timestamp for record in records]
    is_wide = max(times) - min(times) > _MAX_INT64  # then no difference to the first may fit 64 bits
    base_timestamp = (max(times) + min(times)) // 2 if is_wide else times[0]
    largest = max(NO_TIMESTAMP, *times)
    return template.batch(encode_records(records, base_timestamp), len(records), base_timestamp, largest)


def encode(records: Sequence[Record | bytes], template: BatchTemplate | None) -> EncodedBatch:
    """Encode as `encode_batch` does, and return what was encoded."""
    try:
        if not records and isinstance(records, Sequence):
            raise ValueError("a batch without records cannot be appended")
        if are_values := isinstance(records[0], bytes) and set(map(type, records)) == _BYTES_ALONE:
            values: Any = records  # as `cast` says, which is a call
            base_timestamp = min_timestamp = max_timestamp = now_ms()
            if template is None and (data := encode_value_batch(values, base_timestamp)) is not None:
                return _build(EncodedBatch, (data, len(values), base_timestamp, base_timestamp))
            section = encode_plain_values(values)
        else:
            made = cast("Sequence[Record]", records)
            base_timestamp = made[0].timestamp
            section = encode_records(made, base_timestamp)
            timestamps = [record.timestamp for record in made]
            min_timestamp, max_timestamp = min(timestamps), max(timestamps)
    except (TypeError, AttributeError, LookupError):
        # Looked at only now: most are right, and would pay for it.
        if (mixed := with_records_of_values(records)) is not None:
            return encode(mixed, template)
        problem = wrong_records(records)
        if problem is None:
            raise
        raise problem from None
    if min_timestamp < NO_TIMESTAMP:
        raise wrong_records(records) or ValueError("records have negative timestamps")
    if template is None:
        template = formats.batch_template.BatchTemplate()
    try:
        data = template.batch(section, len(records), base_timestamp, max_timestamp)
        return EncodedBatch(data, len(records), min_timestamp, max_timestamp)
    except AttributeError:
        if isinstance(template, formats.batch_template.BatchTemplate):
            raise
        raise _no_template(template) from None
    except StructError:
        raise (None if are_values else wrong_records(records)) or _beyond_header(template) from None


def _no_template(given: object) -> TypeError:
    return TypeError(f"the template is of type {type(given).__name__}: pass a BatchTemplate")


def _beyond_header(template: BatchTemplate) -> ValueError:
    room = "offsets, times and producer ids have 64 bits, sequence numbers 32, producer epochs 16"
    return ValueError(f"{template} has a number that a batch has no room for: {room}")


def encode_end_transaction(
    marker: EndTransactionMarker, producer_id: int, producer_epoch: int, timestamp: int
) -> bytearray:
    """Encode the batch that ends a producer's transaction, as the coordinator sends it to the leader.

    `timestamp` is in milliseconds since 1970 UTC. Kafka: MemoryRecords.withEndTransactionMarker. `Log` appends such a
    batch by `append_end_transaction`. Raises TypeError and ValueError for what no producer or coordinator can have.
    """
    producer_id = number_within(producer_id, "producer_id", MAX_OFFSET)
    producer_epoch = number_within(producer_epoch, "producer_epoch", _MAX_INT16)
    number_within(marker.coordinator_epoch, "coordinator_epoch", MAX_EPOCH)
    number_within(marker.version, "version", _MAX_INT16)
    template = formats.batch_template.BatchTemplate(
        producer_id=producer_id, producer_epoch=producer_epoch, is_transactional=True, is_control=True
    )
    return encode_batch([marker.record(timestamp)], template)


def encode_values(
    values: Sequence[bytes | None],
    timestamps: int | NDArray[np.int64],
    *,
    keys: Sequence[bytes | None] | None = None,
    template: BatchTemplate | None = None,
    batch_bytes: int = BATCH_BYTES,
) -> memoryview:
    """Encode records without headers in bulk, millions a second: as many batches as they need, one after the other.

    `timestamps` are milliseconds since 1970 UTC, one for all or one each. The template is the first batch's; offsets
    and sequence numbers go on from it. Raises TypeError and ValueError for what is no such list, time or template.

    >>> data = encode_values([b"a", b"b"], now_ms())
    """
    from logstore.append.value_columns import value_columns  # noqa: PLC0415  it loads numpy

    columns = value_columns(values, timestamps, keys)
    return encode_columns(columns, template=template, batch_bytes=batch_bytes)


def encode_columns(
    records: RecordColumns, *, template: BatchTemplate | None = None, batch_bytes: int = BATCH_BYTES
) -> memoryview:
    """Encode the records of columns in bulk, with headers: as many batches as they need, one after the other.

    The columns `batch` and `offset` are ignored. Raises ValueError if a record does not lie within the columns' data,
    and TypeError for what is no columns or template.
    """
    from logstore.batch.columns import RecordColumns  # noqa: PLC0415  numpy again

    if not isinstance(records, RecordColumns):
        raise TypeError(
            f"the records are of type {type(records).__name__}: pass RecordColumns; `encode_values` takes lists of "
            "bytes, and `encode_batch` of Record"
        )
    batch_bytes = number_within(batch_bytes, "batch_bytes", _MAX_INT32)
    template = formats.batch_template.BatchTemplate() if template is None else template
    if not isinstance(template, formats.batch_template.BatchTemplate):
        raise _no_template(template)
    template.after(len(records))
    encoder = ENCODER.ready(len(records))
    if encoder is None:
        return memoryview(b"".join(_plain_batches(records, template, batch_bytes)))
    return _encode(encoder(records, batch_bytes), template)


def _encode(encoder: Encoder, template: BatchTemplate) -> memoryview:
    if template.codec is Codec.NONE:
        return encoder.batches(template)
    return memoryview(b"".join(_compressed_batches(encoder, template)))


def _compressed_batches(encoder: Encoder, template: BatchTemplate) -> Iterator[bytearray]:
    for section, count, base_timestamp, max_timestamp in encoder.sections():
        yield template.batch(section, count, base_timestamp, max_timestamp)
        template = template.after(count)


def _plain_batches(
    records: RecordColumns, template: BatchTemplate, batch_bytes: int
) -> Iterator[bytearray | memoryview]:
    """Encode without the kernels until they are there, and the rest with them."""
    import numpy as np  # noqa: PLC0415  plain writers do without

    done, plain = 0, append.plain_encoder.PlainEncoder(records, batch_bytes)
    for section, count, base_timestamp, max_timestamp in plain.sections():
        yield template.batch(section, count, base_timestamp, max_timestamp)
        template = template.after(count)
        done += count
        if (encoder := ENCODER.ready(0)) is not None:
            yield _encode(encoder(records.take(np.arange(done, len(records))), batch_bytes), template)
            return


def _load_encoder() -> type[Encoder]:
    from logstore.batch.columns import RecordColumns  # noqa: PLC0415  as above
    from logstore.kernels.encode import Encoder  # noqa: PLC0415  numba loads on the first bulk operation

    record = RecordColumns.of([Record(0, 0, None, b"")], 0)
    Encoder(record, BATCH_BYTES).batches(formats.batch_template.BatchTemplate())
    for _ in Encoder(record, BATCH_BYTES).sections():
        pass
    return Encoder


ENCODER: Final = AwaitedKernel(_load_encoder, patience=10_000)
"""Asked for once so many records are to be encoded."""
