"""What can be wrong with Kafka's files, grouped by when it is found.

Every error says what happened, where, and what to do next, and carries `file`, `position` (bytes from the start of
the file) and `offset` (of a record or batch) as attributes, None where they do not apply. None of them is about the
disk itself: missing or unreadable files stay the `OSError` that they are.
"""

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Self

from logstore.renamed import warn_renamed


class LogStoreError(Exception):
    """The base of all errors about what is in a file."""

    def __init__(
        self,
        what: str,
        *,
        file: str | PathLike[str] | None = None,
        position: int | None = None,
        offset: int | None = None,
        advice: str = "",
    ) -> None:
        """Say `what` happened at this place, and with `advice` what to do next."""
        places = [
            f"position {position:,}" if position is not None else "",
            f"offset {offset:,}" if offset is not None else "",
        ]
        where = ", ".join(place for place in places if place)
        message = f"{f'{fspath(file)}: ' if file is not None else ''}{what}{f' at {where}' if where else ''}"
        super().__init__(f"{message}; {advice}" if advice else message)
        self.what = what
        self.advice = advice
        self.file = fspath(file) if file is not None else None
        self.position = position
        self.offset = offset

    def with_position(self, *, file: str | PathLike[str] | None, position: int | None, offset: int) -> Self:
        """Return the same error with the place that only the caller of its raiser knows."""
        return type(self)(self.what, file=file, position=position, offset=offset, advice=self.advice)

    def placed(self, *, file: str | PathLike[str] | None, position: int | None, offset: int) -> Self:
        """Do what `with_position` does (deprecated)."""
        warn_renamed("LogStoreError.placed", "with_position")
        return self.with_position(file=file, position=position, offset=offset)


def complete(error: OSError, file: str | PathLike[str], advice: str) -> None:
    """Add to a system's error what it does not say: the file, unknown to calls on a descriptor, and what to do next."""
    if error.filename is None:
        error.filename = fspath(file)
    error.add_note(advice)


# Names and places ------------------------------------------------------------------------------------------------


class NotALogDirectoryError(LogStoreError, ValueError):
    """A path is missing, is no directory, or holds nothing of Kafka's."""


def linked_directory(directory: str | PathLike[str]) -> NotALogDirectoryError:
    """Make the error for a symbolic link in the place of a log that is to be written.

    Whoever works on the log may hold a lock beside the link or beside what it leads to, and so lie its checkpoints.
    """
    return NotALogDirectoryError(
        "a symbolic link in the place of a partition, which is not followed",
        file=directory,
        advice="put the directory that it leads to in its place, or name that one where it lies in its own root",
    )


class InvalidDirectoryNameError(LogStoreError, ValueError):
    """A directory name is not `topic-partition` (with Kafka's suffixes)."""


class DirectoryLockedError(LogStoreError, BlockingIOError):
    """Another process works on the log.dirs root, or this one already does (Kafka: KafkaException at start-up)."""


class OfflineDirectoryError(LogStoreError, OSError):
    """A log.dirs root's disk has failed: its partitions are offline (Kafka: KafkaStorageException)."""


class UnknownPartitionError(LogStoreError, LookupError):
    """No log.dirs root holds the partition (Kafka: UnknownTopicOrPartitionException)."""


class DuplicatePartitionError(LogStoreError, ValueError):
    """Two log directories that are used as one hold the same partition."""


class PartitionExistsError(LogStoreError, FileExistsError):
    """The partition that was to be made is there already."""


# Batches of a log file, from the outside in ------------------------------------------------------------------------


class TornBatchError(LogStoreError, EOFError):
    """The file ends inside a batch: normal at the tail of a log that is being written or whose broker was killed."""


class CorruptBatchError(LogStoreError, ValueError):
    """A batch is damaged: its checksum fails or its header cannot be (Kafka: CorruptRecordException)."""


class InvalidBatchHeaderError(CorruptBatchError):
    """No batch begins here: its length, magic, or offsets cannot be. What follows cannot be found without it."""


class DecompressionError(LogStoreError, ValueError):
    """The compressed records of a batch cannot be decompressed."""


class DecompressionLimitError(DecompressionError):
    """The records of a batch decompress to more, or consist of more blocks, than allowed: damage, or a bomb."""


class CorruptRecordError(LogStoreError, ValueError):
    """A record inside a batch cannot be read (Kafka: InvalidRecordException)."""


class CorruptControlRecordError(CorruptRecordError):
    """A control record's key or value cannot be read."""


# Appends that the log refuses, with nothing written -----------------------------------------------------------------


class AppendError(LogStoreError, ValueError):
    """The base of errors about what somebody wanted to append.

    `file` is the log's directory, `offset` where it would have begun, `position` a place within the bytes given.
    """


class InvalidRecordError(AppendError):
    """A batch or one of its records breaks the rules of the log (Kafka: InvalidRecordException)."""


class InvalidTimestampError(AppendError):
    """A record's timestamp is too far from the leader's clock (Kafka: InvalidTimestampException)."""


class RecordTooLargeError(AppendError):
    """A batch is larger than `max_message_bytes` (Kafka: RecordTooLargeException)."""


class RecordBatchTooLargeError(AppendError):
    """An append is larger than a whole segment may be (Kafka: RecordBatchTooLargeException)."""


class OffsetsOutOfOrderError(AppendError):
    """A follower was given batches whose offsets do not ascend (Kafka: OffsetsOutOfOrderException)."""


class UnexpectedAppendOffsetError(AppendError):
    """A follower was given batches that begin below its log's end (Kafka: UnexpectedAppendOffsetException)."""


class OutOfOrderSequenceError(AppendError):
    """A producer's sequence number does not follow its last one (Kafka: OutOfOrderSequenceException)."""


class InvalidProducerEpochError(AppendError):
    """A newer instance of the producer has written already (Kafka: InvalidProducerEpochException)."""


class InvalidTransactionStateError(AppendError):
    """A producer wrote outside of the transaction that it has open (Kafka: InvalidTxnStateException)."""


class TransactionCoordinatorFencedError(AppendError):
    """A newer transaction coordinator has written already (Kafka: TransactionCoordinatorFencedException)."""


class FencedLeaderEpochError(AppendError):
    """A leader writes in an epoch that is over: a later one has written already (Kafka: FencedLeaderEpochException)."""


class SegmentTooLargeError(LogStoreError, ValueError):
    """A segment is larger than its indexes can point into (Kafka: KafkaException)."""


# A log in use ------------------------------------------------------------------------------------------------------


class OffsetOutOfRangeError(LogStoreError, LookupError):
    """An offset lies outside of the log, or above its high watermark (Kafka: OffsetOutOfRangeException)."""


class LogClosedError(LogStoreError, ValueError):
    """The log is closed."""


def inherited_log(directory: str | PathLike[str]) -> LogClosedError:
    """Make the error for a log that a forked process has got from its parent."""
    return LogClosedError(
        "the log is that of the process which forked this one",
        file=directory,
        advice="use it there, or open it after the fork",
    )


def inherited_directory(root: str | PathLike[str]) -> DirectoryLockedError:
    """Make the error for a log directory that a forked process has got from its parent."""
    return DirectoryLockedError(
        "the log directory is that of the process which forked this one",
        file=root,
        advice="use it there, or open it after the fork",
    )


class LogPoisonedError(LogStoreError, OSError):
    """What is on disk is unknown, since the disk failed or a call was broken off: open the log again.

    Kafka: KafkaStorageException.
    """


class NotClosedError(LogStoreError, OSError):
    """Several of many logs or directories could not be closed; the others are."""

    failures: tuple[Exception, ...] = ()
    """Each one's error."""

    @classmethod
    def of(cls, what: str, failures: Sequence[Exception]) -> Self:
        """Make the error for all that failed on closing `what`."""
        error = cls(f"{len(failures)} steps of closing {what} failed: {'; '.join(map(str, failures))}")
        error.failures = tuple(failures)
        return error


class ReentrantCallError(LogStoreError, RuntimeError):
    """A signal handler used a log or a directory of logs in the middle of a call of the thread that it interrupted.

    Nothing is changed by the call that raises it.
    """


# Files beside the log ----------------------------------------------------------------------------------------------


class CorruptFileError(LogStoreError, ValueError):
    """The base of errors about files beside the log, all of which Kafka can rebuild or do without."""


class CorruptIndexError(CorruptFileError):
    """An offset, time or transaction index cannot be read (Kafka: CorruptIndexException)."""


class CorruptSnapshotError(CorruptFileError):
    """A producer snapshot cannot be read (Kafka: CorruptSnapshotException)."""


class CorruptCheckpointError(CorruptFileError):
    """An offset checkpoint file cannot be read."""


class CorruptMetadataError(CorruptFileError):
    """`partition.metadata`, `meta.properties`, `quorum-state` or the clean-shutdown file cannot be read."""
