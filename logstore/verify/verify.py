"""The checks of a partition and of a root."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import repeat

from logstore.errors import LogStoreError
from logstore.file_name import FileKind
from logstore.offline.log_file import LogFile
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from logstore.topic_partition import parse_directory_name
from logstore.verify.compaction import Compaction
from logstore.verify.directory_check import check_directory
from logstore.verify.empty_segment_check import EmptySegmentCheck
from logstore.verify.epoch_check import EpochCheck
from logstore.verify.finding import UNREADABLE, Finding, Reporter
from logstore.verify.header_check import HeaderCheck, SequenceCheck
from logstore.verify.index_check import OffsetIndexCheck, TimeIndexCheck
from logstore.verify.log_pass import Check, LogPass, Scan
from logstore.verify.offset_check import OffsetCheck
from logstore.verify.own_files_check import known_gaps
from logstore.verify.producer_check import ProducerCheck, SnapshotFile
from logstore.verify.quorum_check import QuorumCheck
from logstore.verify.record_check import RecordCheck, WrapperCheck
from logstore.verify.root_check import check_claims, check_root
from logstore.verify.segment_names import NamedSegments
from logstore.verify.stable_read import settled
from logstore.verify.transaction_check import TransactionCheck

Advance = Callable[[int], None]
Watch = Callable[[PartitionDirectory], Sequence[Check]]


def no_watch(_partition: PartitionDirectory) -> Sequence[Check]:
    """Add no checks."""
    return ()


def verify(
    directory: OfflineLogDirectory | PartitionDirectory,
    *,
    records: bool = False,
    progress: Advance = lambda _bytes: None,
) -> Iterator[Finding]:
    """Check a partition directory or a whole root. `progress` is called with the number of log bytes read."""
    if isinstance(directory, OfflineLogDirectory):
        return verify_root(directory, records=records, progress=progress)
    return verify_partition(directory, records=records, progress=progress)


def verify_root(
    root: OfflineLogDirectory, *, records: bool = False, progress: Advance = lambda _bytes: None
) -> Iterator[Finding]:
    """Check a root's own files and all its partitions."""
    yield from check_root(root)
    for name in root.live_names():
        try:
            partition = root.open_partition(name)
        except (LogStoreError, OSError) as error:
            yield from _unreadable(root, name, error)
            continue
        yield from verify_partition(partition, records=records, progress=progress)


def _unreadable(root: OfflineLogDirectory, name: str, error: LogStoreError | OSError) -> Iterator[Finding]:
    """Report a directory that cannot be listed, unless it is gone: deleted, or renamed to be."""
    if (root.path / name).exists():
        yield Reporter(parse_directory_name(name).topic_partition).error(
            UNREADABLE, f"the directory {name} cannot be read, so nothing in it was checked: {error}", file=None
        )


def verify_partition(
    partition: PartitionDirectory,
    *,
    records: bool = False,
    decoded: Collection[str] = (),
    progress: Advance = lambda _bytes: None,
    watch: Watch = no_watch,
    scan: Scan = LogFile.scan,
) -> Iterator[Finding]:
    """Check a partition's files against each other and against what the root's checkpoints claim.

    With `records` every record is decoded too, compressed ones included, but for those in the files that `decoded`
    names. The log is read once. A broker may be running:
    files that it deletes or replaces meanwhile are not reported as missing or damaged (the partition is read again),
    and nothing more is reported about a partition that it deletes. `watch` returns further checks for each read, and
    `scan` reads the batches.
    """
    look = partial(_findings, records=records, decoded=decoded, progress=progress, watch=watch, scan=scan)
    look_again = partial(look, progress=lambda _bytes: None)
    for finding in settled(partition, look, look_again):
        if not partition.path.exists():
            return
        yield finding


def _findings(
    partition: PartitionDirectory,
    *,
    records: bool,
    decoded: Collection[str],
    progress: Advance,
    watch: Watch,
    scan: Scan,
) -> Iterator[Finding]:
    report = Reporter(partition.topic_partition)
    partition = partition.with_hidden_segments()
    named = NamedSegments.of(partition, report)
    yield from check_directory(partition, named.segments)
    yield from named.findings
    of_records = RecordCheck(report, decoded) if records else WrapperCheck(report)
    checks = [*_checks(partition, named.segments, report), *watch(partition), of_records]
    clean = partition.checkpoints.clean_shutdown
    log_pass = LogPass(named.segments, checks, report, progress, clean_shutdown=clean, scan=scan)
    yield from log_pass.run()
    if log_pass.end_is_known:
        # Without segments a broker begins an empty log where the log is said to start.
        end = log_pass.log_end_offset if partition.segments else partition.log_start_offset
        yield from check_claims(partition, end)


def bytes_to_read(directory: OfflineLogDirectory | PartitionDirectory) -> int:
    """Return the bytes of log that `verify` reads: the unit of its progress.

    Files that cannot be read count as 0.
    """
    if isinstance(directory, PartitionDirectory):
        return sum(map(_size, directory.segments))
    return sum(map(_partition_size, repeat(directory), directory.live_names()))


def _partition_size(root: OfflineLogDirectory, name: str) -> int:
    try:
        return sum(map(_size, root.open_partition(name).segments))
    except (LogStoreError, OSError):
        return 0


def _size(segment: Segment) -> int:
    try:
        return segment.size
    except OSError:
        return 0


def _checks(partition: PartitionDirectory, segments: Sequence[Segment], report: Reporter) -> list[Check]:
    compaction = Compaction.of(partition)
    log_start = partition.log_start_offset
    first_segment = min((segment.base_offset for segment in segments), default=0)
    snapshots = [
        SnapshotFile(name.base_offset or 0, path) for name, path in partition.named(FileKind.PRODUCER_SNAPSHOT)
    ]
    return [
        compaction,
        HeaderCheck(report),
        SequenceCheck(report, compaction, log_start),
        OffsetCheck(report, compaction, log_start, known_gaps(partition)),
        EmptySegmentCheck(report, compaction, partition, segments),
        OffsetIndexCheck(report),
        TimeIndexCheck(report),
        EpochCheck.of(partition, report, compaction),
        TransactionCheck(report, compaction, first_segment, log_start),
        ProducerCheck(
            report,
            compaction,
            snapshots,
            log_start,
            must_have_one=partition.checkpoints.clean_shutdown and partition.own_checkpoints is None,
        ),
        *QuorumCheck.all_of(partition, report),
    ]
