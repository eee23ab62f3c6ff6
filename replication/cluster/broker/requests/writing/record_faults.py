"""The records for which a whole batch is refused (KIP-467)."""

from typing import Final, NamedTuple

from logstore import LogConfig, LogStoreError
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import NO_PRODUCER_ID, NO_TIMESTAMP, TimestampType

MOST_BYTES: Final = 1 << 20
"""Of decompressed records that are looked at one by one once more."""


class RecordFault(NamedTuple):
    """One of them."""

    number: int
    """Its place in the batch, from 0 on."""
    what: str
    is_of_time: bool


def record_faults(records: bytes | memoryview, config: LogConfig, now_ms: int) -> tuple[RecordFault, ...]:
    """Return the records that a log of this configuration refuses; none of a batch that is refused as a whole.

    A compressed batch of more than `MOST_BYTES` is.
    """
    try:
        batch = RecordBatch(memoryview(records))
        return tuple(_faults(batch, config, now_ms)) if _is_consistent(batch) else ()
    except LogStoreError:
        return ()


def _is_consistent(batch: RecordBatch) -> bool:
    is_numbered = batch.producer_id == NO_PRODUCER_ID or batch.base_sequence >= 0
    return batch.record_count == batch.last_offset + 1 and not batch.is_control and is_numbered


def _faults(batch: RecordBatch, config: LogConfig, now_ms: int) -> list[RecordFault]:
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    is_by_producer = config.message_timestamp_type is TimestampType.CREATE_TIME
    is_stamped = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    found: list[RecordFault] = []
    for number, record in enumerate(batch.records(limit=MOST_BYTES)):
        if record.key is None and config.is_compacted:
            found.append(RecordFault(number, "it has no key, by which the topic is compacted", is_of_time=False))
        elif is_by_producer and record.timestamp != NO_TIMESTAMP:
            if not earliest <= record.timestamp <= latest:
                what = f"its time, {record.timestamp:,} ms, is not within {earliest:,} to {latest:,}"
                found.append(RecordFault(number, what, is_of_time=True))
        elif is_stamped:
            what = "its producer says LogAppendTime, which is the leader's to say"
            found.append(RecordFault(number, what, is_of_time=True))
    return found
