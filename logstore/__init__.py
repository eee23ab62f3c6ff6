"""Kafka's logs on disk, byte for byte: batches and records, segments and indexes, checkpoints, whole directories.

>>> from logstore import LogFile
>>> with LogFile.open("orders-0/00000000000000000000.log") as log:
...     values = [record.value for batch in log.batches() for record in batch.records()]

Names load their modules on first use, so that `import logstore` costs next to nothing; numba loads on the first bulk
operation (`LogFile.scan`), everything else works without it.
"""

__distribution__ = "epochlog 0.1.0"

from importlib import import_module
from typing import Any

from logstore.belonging import ensure_together

_NAMES_BY_MODULE = {
    "append_info": ("AppendInfo",),
    "append_origin": ("AppendOrigin",),
    "append_validation": ("ValidatedAppend", "validate_for_follower", "validate_for_leader"),
    "batch": ("RecordBatch",),
    "batch_attributes": ("TimestampType",),
    "batch_template": ("BatchTemplate",),
    "batches": ("Batch", "read_batch", "read_batches"),
    "clean_shutdown": ("CleanShutdown",),
    "codec": ("Codec",),
    "clock": ("now_ms",),
    "columns": ("BatchColumns", "RecordColumns", "StopReason"),
    "control": ("ControlRecord", "ControlType", "EndTransactionMarker"),
    "directory_lock": ("DirectoryLock",),
    "directory_settings": ("DirectorySettings",),
    "encoding": ("encode_batch", "encode_columns", "encode_end_transaction", "encode_values"),
    "errors": (
        "AppendError",
        "CorruptBatchError",
        "CorruptCheckpointError",
        "CorruptControlRecordError",
        "CorruptFileError",
        "CorruptIndexError",
        "CorruptMetadataError",
        "CorruptRecordError",
        "CorruptSnapshotError",
        "DecompressionError",
        "DecompressionLimitError",
        "DirectoryLockedError",
        "FencedLeaderEpochError",
        "InvalidBatchHeaderError",
        "InvalidDirectoryNameError",
        "InvalidProducerEpochError",
        "InvalidRecordError",
        "InvalidTimestampError",
        "InvalidTransactionStateError",
        "LogClosedError",
        "LogPoisonedError",
        "LogStoreError",
        "NotALogDirectoryError",
        "NotClosedError",
        "OfflineDirectoryError",
        "OffsetOutOfRangeError",
        "OffsetsOutOfOrderError",
        "OutOfOrderSequenceError",
        "PartitionExistsError",
        "RecordBatchTooLargeError",
        "RecordTooLargeError",
        "ReentrantCallError",
        "SegmentTooLargeError",
        "TornBatchError",
        "TransactionCoordinatorFencedError",
        "UnexpectedAppendOffsetError",
        "UnknownPartitionError",
    ),
    "file_name": ("FileFate", "FileKind", "FileName", "parse_file_name"),
    "isolation": ("Isolation",),
    "log": ("Log",),
    "log_config": ("LogConfig",),
    "log_directories": ("LogDirectories",),
    "log_directory": ("LogDirectory",),
    "log_file": ("LogFile",),
    "log_observer": ("LogObserver",),
    "log_root": ("LogRoot", "open_log_directory"),
    "message_set": ("LegacyBatch",),
    "meta_properties": ("MetaProperties",),
    "offset_checkpoint": ("OffsetCheckpoint",),
    "offset_index": ("OffsetIndex", "OffsetIndexEntry"),
    "open_files": ("OpenFiles",),
    "partition_directory": ("PartitionDirectory",),
    "partition_metadata": ("PartitionMetadata",),
    "producer_snapshot": ("ProducerSnapshot", "ProducerStateEntry"),
    "producer_state": ("ProducerState",),
    "quorum_state": ("QuorumState",),
    "read_view": ("ReadView",),
    "record": ("Header", "Record"),
    "recovered_log": ("RecoveredLog",),
    "recovery_estimate": ("RecoveryEstimate",),
    "recovery_report": ("DroppedTail", "RecoveryReport"),
    "time_index": ("TimeIndex", "TimeIndexEntry"),
    "timestamp_search": ("TimestampedOffset",),
    "topic_partition": ("TopicPartition", "parse_directory_name"),
    "transaction_index": ("AbortedTransaction", "TransactionIndex"),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Load the module that defines a public name (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


ensure_together(__name__, __distribution__)
