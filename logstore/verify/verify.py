"""Which checks a partition and a root go through."""

from collections.abc import Callable, Iterator

from logstore.file_name import FileKind
from logstore.log_root import LogRoot
from logstore.partition_directory import PartitionDirectory
from logstore.verify.compaction import Compaction
from logstore.verify.directory_check import check_directory
from logstore.verify.epoch_check import EpochCheck
from logstore.verify.finding import Finding, Reporter
from logstore.verify.index_check import OffsetIndexCheck, TimeIndexCheck
from logstore.verify.log_pass import Check, LogPass
from logstore.verify.offset_check import OffsetCheck
from logstore.verify.producer_check import ProducerCheck, SnapshotFile
from logstore.verify.record_check import RecordCheck
from logstore.verify.root_check import check_claims, check_root
from logstore.verify.transaction_check import TransactionCheck

Advance = Callable[[int], None]


def verify(
    directory: LogRoot | PartitionDirectory, *, records: bool = False, progress: Advance = lambda _bytes: None
) -> Iterator[Finding]:
    """Check a partition directory or a whole root. `progress` is told the bytes of log that were read."""
    if isinstance(directory, LogRoot):
        return verify_root(directory, records=records, progress=progress)
    return verify_partition(directory, records=records, progress=progress)


def verify_root(root: LogRoot, *, records: bool = False, progress: Advance = lambda _bytes: None) -> Iterator[Finding]:
    """Check a root's own files and all its partitions."""
    yield from check_root(root)
    for partition in root.partitions():
        yield from verify_partition(partition, records=records, progress=progress)


def verify_partition(
    partition: PartitionDirectory, *, records: bool = False, progress: Advance = lambda _bytes: None
) -> Iterator[Finding]:
    """Check a partition's files against each other and against what the root's checkpoints claim.

    With `records` every record is decoded too, compressed ones included. The log is read once.
    """
    yield from check_directory(partition)
    report = Reporter(partition.topic_partition)
    log_pass = LogPass(partition.segments, _checks(partition, report, records=records), report, progress)
    yield from log_pass.run()
    if partition.segments:
        yield from check_claims(partition, log_pass.log_end_offset)


def bytes_to_read(directory: LogRoot | PartitionDirectory) -> int:
    """Return the bytes of log that `verify` reads: the unit of its progress."""
    partitions = directory.partitions() if isinstance(directory, LogRoot) else [directory]
    return sum(segment.size for partition in partitions for segment in partition.segments)


def _checks(partition: PartitionDirectory, report: Reporter, *, records: bool) -> list[Check]:
    compaction = Compaction.of(partition)
    log_start = partition.log_start_offset
    first_segment = min((segment.base_offset for segment in partition.segments), default=0)
    snapshots = [
        SnapshotFile(name.base_offset or 0, path) for name, path in partition.named(FileKind.PRODUCER_SNAPSHOT)
    ]
    checks: list[Check] = [
        compaction,
        OffsetCheck(report, compacted=compaction.found),
        OffsetIndexCheck(report),
        TimeIndexCheck(report),
        EpochCheck.of(partition, report, compaction),
        TransactionCheck(report, compaction, first_segment),
        ProducerCheck(report, compaction, snapshots, log_start),
    ]
    if records:
        checks.append(RecordCheck(report))
    return checks
