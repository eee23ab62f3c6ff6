"""The errors of `logstore`, grouped by when they are raised.

Every error says what happened, where, and what to do next, and has the attributes `file`, `position` (bytes from the
start of the file) and `offset` (of a record or batch), which are None if they do not apply. Missing or unreadable
files raise `OSError`.
"""

from collections.abc import Sequence
from io import UnsupportedOperation
from os import PathLike, fspath
from typing import Self

from epoch.base.store_error import LogStoreError as LogStoreError  # noqa: PLC0414  mypy: it is one of these


def complete(error: OSError, file: str | PathLike[str], advice: str) -> None:
    """Add to a system's error what it does not say: the file, unknown to calls on a descriptor, and what to do next."""
    if error.filename is None:
        error.filename = fspath(file)
    error.add_note(advice)


# Names and places ------------------------------------------------------------------------------------------------


class NotALogDirectoryError(LogStoreError, ValueError):
    """A path does not exist, is not a directory, or contains no files of Kafka's."""


def linked_directory(directory: str | PathLike[str]) -> NotALogDirectoryError:
    """Make the error for a symbolic link in the place of a log that is to be written.

    Whoever works on the log may hold a lock beside the link or beside what it leads to, and so lie its checkpoints.
    """
    return NotALogDirectoryError(
        "the partition's directory is a symbolic link, which is not followed",
        file=directory,
        advice="replace the link by the directory that it leads to, or open that directory in its own root",
    )


class InvalidDirectoryNameError(LogStoreError, ValueError):
    """A directory's name is not `topic-partition` (with Kafka's suffixes)."""


class DirectoryLockedError(LogStoreError, BlockingIOError):
    """The log.dirs root is in use by another process, or already by this one (Kafka: KafkaException at start-up)."""


class OfflineDirectoryError(LogStoreError, OSError):
    """The disk of a log.dirs root has failed: its partitions are offline (Kafka: KafkaStorageException)."""


class UnknownPartitionError(LogStoreError, LookupError):
    """No log.dirs root holds the partition (Kafka: UnknownTopicOrPartitionException)."""


class DuplicatePartitionError(LogStoreError, ValueError):
    """Two roots of one `LogDirectories` hold the same partition."""


class PartitionExistsError(LogStoreError, FileExistsError):
    """The partition to create already exists."""


# Batches of a log file, from the outside in ------------------------------------------------------------------------


class TornBatchError(LogStoreError, EOFError):
    """The file ends inside a batch: normal at the end of a log that is being written or whose broker was killed."""


class CorruptBatchError(LogStoreError, ValueError):
    """A batch is damaged: its checksum does not match or its header is invalid (Kafka: CorruptRecordException)."""


class InvalidBatchHeaderError(CorruptBatchError):
    """No batch begins here: its length, magic or offsets are invalid. Where the next batch begins is unknown."""


class DecompressionError(LogStoreError, ValueError):
    """The compressed records of a batch cannot be decompressed."""


class DecompressionLimitError(DecompressionError):
    """The records of a batch decompress to more bytes, or consist of more blocks, than allowed."""


class CorruptRecordError(LogStoreError, ValueError):
    """A record inside a batch cannot be read (Kafka: InvalidRecordException)."""


class CorruptControlRecordError(CorruptRecordError):
    """A control record's key or value cannot be read."""


# Appends that the log refuses, with nothing written -----------------------------------------------------------------


class AppendError(LogStoreError, ValueError):
    """Base class of the errors of appends.

    `file` is the log's directory, `offset` the offset of the append, `position` a position in the bytes given.
    """


class InvalidRecordError(AppendError):
    """A batch or one of its records breaks the rules of the log (Kafka: InvalidRecordException)."""


class InvalidTimestampError(AppendError):
    """A record's timestamp is too far from the leader's clock (Kafka: InvalidTimestampException)."""


class RecordTooLargeError(AppendError):
    """A batch is larger than `max_message_bytes` (Kafka: RecordTooLargeException)."""


class RecordBatchTooLargeError(AppendError):
    """An append is larger than `segment_bytes` (Kafka: RecordBatchTooLargeException)."""


class OffsetsOutOfOrderError(AppendError):
    """The offsets of a follower's batches do not ascend (Kafka: OffsetsOutOfOrderException)."""


class UnexpectedAppendOffsetError(AppendError):
    """A follower's batches begin below its log end offset (Kafka: UnexpectedAppendOffsetException)."""


class OutOfOrderSequenceError(AppendError):
    """A producer's sequence number does not follow its last one (Kafka: OutOfOrderSequenceException)."""


class InvalidProducerEpochError(AppendError):
    """A newer instance of the producer has already written (Kafka: InvalidProducerEpochException)."""


class InvalidTransactionStateError(AppendError):
    """A producer with an open transaction wrote outside of it (Kafka: InvalidTxnStateException)."""


class TransactionCoordinatorFencedError(AppendError):
    """A newer transaction coordinator has already written (Kafka: TransactionCoordinatorFencedException)."""


class FencedLeaderEpochError(AppendError):
    """The leader epoch is over, or missing where others lead the log, too (Kafka: FencedLeaderEpochException)."""


class SegmentTooLargeError(LogStoreError, ValueError):
    """A segment is larger than its indexes can address (Kafka: KafkaException)."""


# A log in use ------------------------------------------------------------------------------------------------------


class OffsetOutOfRangeError(LogStoreError, LookupError):
    """An offset is outside of the log, or above its high watermark (Kafka: OffsetOutOfRangeException)."""

    @classmethod
    def outside_of(cls, log: str | PathLike[str], offset: int, start: int, end: int | None, advice: str) -> Self:
        """Return the error for an offset that a log does not hold; `end` is the first behind it, or None if unknown."""
        if end is None:
            what = f"the log holds offsets from {start:,} on, and not {offset:,}"
        elif end <= start:
            what = f"the log is empty and ends at offset {end:,}: it does not hold {offset:,}"
        else:
            held = f"offset {start:,}" if end == start + 1 else f"offsets {start:,} to {end - 1:,}"
            what = f"the log holds {held}, and not {offset:,}"
        return cls(what, file=log, offset=offset, advice=advice)


class LogTruncatedError(OffsetOutOfRangeError):
    """The log was truncated below the place up to which it had been read (Kafka: LogTruncationException)."""

    offset: int
    """Where the histories diverge: records from there on were taken back, and others may have their offsets."""


class LogClosedError(LogStoreError, ValueError):
    """The log is closed."""


def inherited_log(directory: str | PathLike[str]) -> LogClosedError:
    """Make the error for a log that a forked process has got from its parent."""
    return LogClosedError(
        "the log belongs to the parent process",
        file=directory,
        advice="use it there, or open it after the fork",
    )


def inherited_directory(root: str | PathLike[str]) -> DirectoryLockedError:
    """Make the error for a log directory that a forked process has got from its parent."""
    return DirectoryLockedError(
        "the log directory belongs to the parent process",
        file=root,
        advice="use it there, or open it after the fork",
    )


class DamagedLogError(LogStoreError, ValueError):
    """Records that were promised are damaged or lost, and no other node has them: the log is not opened as it is.

    `position` is where in the file the damage begins, and `offset` the first that it concerns.
    """

    file: str
    """The file that is damaged, or the directory that lacks one."""
    end_offset: int | None = None
    """The first offset behind the damage; the last one of all where nothing follows it."""


class HoleError(CorruptBatchError):
    """A read comes to offsets that were damaged or lost, as `Log.holes` lists them: go on at `next_offset`."""

    next_offset: int = -1
    """Where the log can be read again."""


class CompactionAbortedError(LogStoreError, RuntimeError):
    """Records were taken away while the log was compacted (Kafka: LogCleaningAbortedException)."""


class MissingKeyError(LogStoreError, ValueError):
    """A record without a key is in a log that is to be compacted, which would delete it."""


class UnsupportedFormatError(LogStoreError, ValueError):
    """A batch has the format of messages before Kafka 0.11, and the log store only reads those."""


class ReadOnlyError(LogStoreError, UnsupportedOperation):
    """A log was opened to be read only."""


class LogPoisonedError(LogStoreError, OSError):
    """The state on disk is unknown, since the disk failed or a call was interrupted: open the log again.

    Kafka: KafkaStorageException.
    """


class NotClosedError(LogStoreError, OSError):
    """Several logs or directories could not be closed; the others were."""

    failures: tuple[Exception, ...] = ()
    """Each one's error."""

    @classmethod
    def of(cls, what: str, failures: Sequence[Exception]) -> Self:
        """Make the error for all that failed on closing `what`."""
        error = cls(f"{len(failures)} steps of closing {what} failed: {'; '.join(map(str, failures))}")
        error.failures = tuple(failures)
        return error


class ReentrantCallError(LogStoreError, RuntimeError):
    """A signal handler called a log or log directory while the thread that it interrupted was in a call of it.

    The call that raises this error changes nothing.
    """


# Files beside the log ----------------------------------------------------------------------------------------------


class CorruptFileError(LogStoreError, ValueError):
    """Base class of the errors of files beside the log, all of which Kafka can rebuild or do without."""


class CorruptIndexError(CorruptFileError):
    """An offset, time or transaction index cannot be read (Kafka: CorruptIndexException)."""


class CorruptSnapshotError(CorruptFileError):
    """A producer snapshot cannot be read (Kafka: CorruptSnapshotException)."""


class CorruptCheckpointError(CorruptFileError):
    """An offset checkpoint file cannot be read."""


class CorruptMetadataError(CorruptFileError):
    """`partition.metadata`, `meta.properties`, `quorum-state` or the clean-shutdown file cannot be read."""
