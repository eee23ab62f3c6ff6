"""The answer to a producer whose batch was not appended."""

from typing import Final

from logstore import (
    CorruptBatchError,
    CorruptRecordError,
    FencedLeaderEpochError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTransactionStateError,
    LogClosedError,
    LogConfig,
    LogStoreError,
    OutOfOrderSequenceError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    TransactionCoordinatorFencedError,
    UnsupportedFormatError,
)
from logstore.clock import now_ms
from replication.cluster.broker.errors import NotEnoughReplicasError, NotLeaderError
from replication.cluster.broker.requests.writing.record_faults import record_faults
from replication.wire.error_code import ErrorCode
from replication.wire.messages.produce import ProducedPartition, RecordError

APPEND_ERRORS: Final = (LogStoreError, OSError, NotLeaderError, NotEnoughReplicasError)
"""All that an append raises for what a client sent, or for the disk."""

_CODES: Final[dict[type, ErrorCode]] = {
    NotLeaderError: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    NotEnoughReplicasError: ErrorCode.NOT_ENOUGH_REPLICAS,
    # Another leader has written, of whom this broker has not heard yet.
    FencedLeaderEpochError: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    CorruptBatchError: ErrorCode.CORRUPT_MESSAGE,
    CorruptRecordError: ErrorCode.INVALID_RECORD,
    InvalidRecordError: ErrorCode.INVALID_RECORD,
    InvalidTimestampError: ErrorCode.INVALID_TIMESTAMP,
    RecordTooLargeError: ErrorCode.MESSAGE_TOO_LARGE,
    RecordBatchTooLargeError: ErrorCode.RECORD_LIST_TOO_LARGE,
    OutOfOrderSequenceError: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    InvalidProducerEpochError: ErrorCode.INVALID_PRODUCER_EPOCH,
    InvalidTransactionStateError: ErrorCode.INVALID_TXN_STATE,
    TransactionCoordinatorFencedError: ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    UnsupportedFormatError: ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    LogClosedError: ErrorCode.KAFKA_STORAGE_ERROR,
    OSError: ErrorCode.KAFKA_STORAGE_ERROR,
}
_WITHOUT_START: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""With these Kafka does not answer where the log starts."""

_OF_RECORDS: Final = frozenset({ErrorCode.INVALID_TIMESTAMP, ErrorCode.INVALID_RECORD})


def append_error(error: Exception) -> ErrorCode:
    """Return the code for what an append has raised; UNKNOWN_SERVER_ERROR for what Kafka has no closer one."""
    return next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), ErrorCode.UNKNOWN_SERVER_ERROR)


def append_refusal(
    error: Exception, records: bytes | memoryview, config: LogConfig, log_start_offset: int
) -> ProducedPartition:
    """Return the answer for a partition whose append has raised `error`; with the records at fault if it is theirs."""
    code = append_error(error)
    start = -1 if code in _WITHOUT_START else log_start_offset
    faults = record_faults(records, config, now_ms()) if code in _OF_RECORDS else ()
    if not faults:
        return ProducedPartition(code, log_start_offset=start)
    is_of_time = any(fault.is_of_time for fault in faults)
    return ProducedPartition(
        ErrorCode.INVALID_TIMESTAMP if is_of_time else ErrorCode.INVALID_RECORD,
        log_start_offset=start,
        record_errors=tuple(RecordError(fault.number, fault.what) for fault in faults),
        error_message=f"{len(faults):,} records are refused, {'for their time' if is_of_time else 'without key'}",
    )
