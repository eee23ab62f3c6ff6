"""Kafka's logs on disk, byte for byte: batches and records, segments and indexes, checkpoints, whole directories.

>>> from logstore import LogFile
>>> with LogFile.open("orders-0/00000000000000000000.log") as log:
...     values = [record.value for batch in log.batches() for record in batch.records()]

Names load their modules on first use, so that `import logstore` is fast. numba is loaded by the first bulk operation
(`LogFile.scan`); everything else works without it.
"""

__distribution__ = "epochlog 0.2.0"
__version__ = __distribution__.partition(" ")[2]

import sys
from importlib import import_module
from typing import Any

from logstore.belonging import ensure_together

_NAMES_BY_MODULE = {
    "append.append_info": ("AppendInfo",),
    "batch.append_origin": ("AppendOrigin",),
    "append.append_validation": ("ValidatedAppend", "validate_for_follower", "validate_for_leader"),
    "batch.batch": ("RecordBatch",),
    "batch.batch_attributes": ("TimestampType",),
    "batch.batch_template": ("BatchTemplate",),
    "batch.any_batch": ("Batch",),
    "batch.batches": ("read_batch", "read_batches"),
    "files.clean_shutdown": ("CleanShutdown",),
    "compaction.compaction_report": ("CompactionReport",),
    "batch.compression.codec": ("Codec",),
    "clock": ("WatchedClock", "now_ms"),
    "clock_watch": ("ClockDoubt",),
    "batch.columns": ("BatchColumns", "RecordColumns", "StopReason"),
    "batch.control": ("ControlRecord", "ControlType", "EndTransactionMarker"),
    "files.directory_lock": ("DirectoryLock",),
    "files.only_copy.offset_gaps": ("Hole",),
    "directory.directory_recovery": ("DirectoryRecovery",),
    "directory.directory_settings": ("DirectorySettings",),
    "append.encoding": ("encode_batch", "encode_columns", "encode_end_transaction", "encode_values"),
    "errors": (
        "AppendError",
        "CompactionAbortedError",
        "CorruptBatchError",
        "CorruptCheckpointError",
        "CorruptControlRecordError",
        "CorruptFileError",
        "CorruptIndexError",
        "CorruptMetadataError",
        "CorruptRecordError",
        "CorruptSnapshotError",
        "DamagedLogError",
        "DecompressionError",
        "DecompressionLimitError",
        "DirectoryLockedError",
        "DuplicatePartitionError",
        "FencedLeaderEpochError",
        "HoleError",
        "InvalidBatchHeaderError",
        "InvalidDirectoryNameError",
        "InvalidProducerEpochError",
        "InvalidRecordError",
        "InvalidTimestampError",
        "InvalidTransactionStateError",
        "LogClosedError",
        "LogPoisonedError",
        "LogStoreError",
        "LogTruncatedError",
        "MissingKeyError",
        "NotALogDirectoryError",
        "NotClosedError",
        "OfflineDirectoryError",
        "OffsetOutOfRangeError",
        "OffsetsOutOfOrderError",
        "OutOfOrderSequenceError",
        "PartitionExistsError",
        "RecordBatchTooLargeError",
        "RecordTooLargeError",
        "ReadOnlyError",
        "ReentrantCallError",
        "SegmentTooLargeError",
        "TornBatchError",
        "TransactionCoordinatorFencedError",
        "UnexpectedAppendOffsetError",
        "UnknownPartitionError",
        "UnsupportedFormatError",
    ),
    "file_name": ("FileFate", "FileKind", "FileName", "parse_file_name"),
    "log.reading.isolation": ("Isolation",),
    "log.durable.durable_append": ("DurableAppend",),
    "log.frozen_log": ("CheckedLog", "FrozenLog"),
    "log.leadership": ("Leadership",),
    "log.log": ("Log",),
    "log.backup.log_backup": ("LogBackup",),
    "log.log_producer": ("LogProducer",),
    "log_config": ("LogConfig",),
    "directory.log_directories": ("LogDirectories",),
    "directory.log_directory": ("LogDirectory",),
    "offline.log_file": ("LogFile",),
    "log.observers.log_observer": ("LogObserver",),
    "offline.offline_log_directory": ("OfflineLogDirectory", "open_offline"),
    "batch.legacy_batch": ("LegacyBatch",),
    "offline.header_scan": ("scan_headers",),
    "files.meta_properties": ("MetaProperties",),
    "files.offset_checkpoint": ("OffsetCheckpoint",),
    "indexes.index_entry": ("OffsetIndexEntry", "TimeIndexEntry"),
    "indexes.offset_index": ("OffsetIndex",),
    "segment.open_files": ("OpenFiles",),
    "offline.live.polled_tail": ("PolledTail",),
    "offline.live.read_only_log": ("ReadOnlyLog",),
    "offline.partition_directory": ("PartitionDirectory",),
    "files.partition_metadata": ("PartitionMetadata", "format_uuid"),
    "files.producer_snapshot": ("ProducerSnapshot", "ProducerStateEntry"),
    "producers.producer_state": ("ProducerState",),
    "files.quorum_state": ("QuorumState",),
    "segment.read_view": ("ReadView",),
    "batch.record": ("Header", "Record"),
    "offline.recovered_log": ("RecoveredLog",),
    "recovery.recovery_estimate": ("RecoveryEstimate",),
    "recovery.dropped_tail": ("DroppedTail",),
    "recovery.recovery_report": ("RecoveryReport",),
    "indexes.time_index": ("TimeIndex",),
    "log.cursors.cursor": ("Cursor",),
    "log.reading.tail": ("Tail",),
    "log.timestamp_search": ("TimestampedOffset",),
    "text.mask_salt": ("MaskSaltError", "mask_salt"),
    "text.record_mask": ("MaskForm", "RecordMask"),
    "topic_partition": ("TopicPartition", "parse_directory_name"),
    "indexes.transaction_index": ("AbortedTransaction", "TransactionIndex"),
    "warming.warm": ("warm",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

_RENAMED = {"LogRoot": "OfflineLogDirectory", "open_log_directory": "open_offline"}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Load the module that defines a public name (PEP 562)."""
    if name in _RENAMED:
        from epoch.base.renamed import warn_renamed  # noqa: PLC0415 - not before `epoch` is known to belong to it

        warn_renamed(f"{__name__}.{name}", _RENAMED[name])
        return getattr(sys.modules[__name__], _RENAMED[name])
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


ensure_together(__name__, __distribution__)
