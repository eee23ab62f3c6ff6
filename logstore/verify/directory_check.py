"""Every file in a partition directory has its place and its partners."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from logstore.errors import LogStoreError
from logstore.file_name import INDEX_KINDS, META_PROPERTIES_NAME, SET_ASIDE_SUFFIX, FileFate, FileKind, parse_file_name
from logstore.files.backup_mark import BACKUP_MARK
from logstore.files.broker.lost_tail import LOST_TAIL_MARK
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.directory_lock import LOCK_NAME
from logstore.files.followed_mark import FOLLOWED_MARK
from logstore.files.meta_properties import MetaProperties
from logstore.files.only_copy.offset_gaps import OFFSET_GAPS_NAME
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME
from logstore.files.own_checkpoints import OWN_CHECKPOINTS
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.files.quorum_state import QuorumState
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from logstore.topic_partition import METADATA_TOPIC
from logstore.verify.finding import Finding, Reporter
from logstore.verify.own_files_check import check_own_files
from logstore.verify.reading import read_file
from logstore.verify.root_check import check_checkpoints, check_clean_shutdown, not_files
from logstore.verify.snapshot_check import check_snapshot

TOPIC_ID_MISSING: Final = "topic-id-missing"
PARTIAL_SNAPSHOT = ".checkpoint.part"
OURS: Final = frozenset(
    {LOCK_NAME, BACKUP_MARK, FOLLOWED_MARK, LOST_TAIL_MARK, OFFSET_GAPS_NAME, PROMISED_OFFSETS_NAME}
)
"""Files of this library that Kafka leaves alone."""
NEEDED_INDEXES = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX)
"""Every segment with records has these."""


def check_directory(partition: PartitionDirectory, segments: Sequence[Segment]) -> Iterator[Finding]:
    """Check the names in a partition directory, the partners of its `segments`, and its small files."""
    report = Reporter(partition.topic_partition)
    for name in partition.listing.escaping_links:
        yield report.error("link-leaves-root", "a symbolic link that leaves the root: it was not followed", file=name)
    own = OWN_CHECKPOINTS if partition.own_checkpoints is not None else frozenset[str]()
    for name in sorted(filter(_is_odd, partition.listing.files.keys() - own - OURS)):
        yield from _left_over(name, report, clean_shutdown=partition.checkpoints.clean_shutdown)
    for name in sorted(partition.listing.directories.keys() - own):
        yield _no_file(name, "a directory", report)
    for name in sorted(partition.listing.other.keys() - own):
        yield _no_file(name, "a pipe, a socket, a device or a broken symbolic link", report)
    yield from _partners(partition, segments, report)
    yield from _small_files(partition, report)
    yield from check_own_files(partition, report)
    if partition.own_checkpoints is not None:
        yield from _own_checkpoints(partition, partition.own_checkpoints, report)
    for parsed, path in partition.named(FileKind.METADATA_SNAPSHOT):
        yield from check_snapshot(path, report, epoch=parsed.epoch or 0)


def _is_odd(name: str) -> bool:
    """Whether a file is none of a log that is in use."""
    parsed = parse_file_name(name)
    return parsed.fate is not FileFate.LIVE or parsed.kind in {FileKind.UNKNOWN, FileKind.TEMPORARY}


def _no_file(name: str, what: str, report: Reporter) -> Finding:
    """Report what is not a regular file, as an error if a broker's file belongs there."""
    if _is_odd(name):
        return report.info("unknown-file", "not a file that Kafka writes in a partition directory", file=name)
    return report.error(
        "not-a-file",
        f"{what} stands where this file belongs: it was not read, and no broker can write it",
        file=name,
    )


def _left_over(name: str, report: Reporter, *, clean_shutdown: bool) -> Iterator[Finding]:
    parsed = parse_file_name(name)
    if name.endswith(PARTIAL_SNAPSHOT):
        yield report.info(
            "left-over-tmp", "a metadata snapshot that is being fetched, or was when the broker stopped", file=name
        )
    elif name.endswith(SET_ASIDE_SUFFIX):
        yield report.info(
            "set-aside",
            "recovery took this out of the log: it is kept for people to look at, and may be removed",
            file=name,
        )
    elif parsed.kind is FileKind.UNKNOWN:
        yield report.info("unknown-file", "not a file that Kafka writes in a partition directory", file=name)
    elif parsed.kind is FileKind.TEMPORARY:
        yield report.info(
            "left-over-tmp", "written but never put in place: a crash left it, it may be removed", file=name
        )
    elif parsed.fate is FileFate.DELETED:
        yield report.info("left-over-deleted", "to be deleted: a broker removes it at its next start", file=name)
    elif parsed.fate is FileFate.CLEANED:
        # A cleaner that is at work always has some.
        of_severity = report.warning if clean_shutdown else report.info
        yield of_severity(
            "left-over-cleaned", "the cleaner is at work or was interrupted: removed at the next start", file=name
        )
    elif parsed.fate is FileFate.BEGUN:
        yield report.info(
            "left-over-begun",
            "the log goes on here while the segment before is synced, or did as its process died: the next start "
            "gives it its name, if nothing before it is lost",
            file=name,
        )
    elif parsed.fate is FileFate.SWAP:
        yield report.warning(
            "left-over-swap",
            "the cleaner finished this file but did not put it in place: at its next start a broker lets it take the "
            "place of the segments that it covers",
            file=name,
        )


def _partners(partition: PartitionDirectory, segments: Sequence[Segment], report: Reporter) -> Iterator[Finding]:
    taken = {path.name for segment in segments for path in segment.files.values()}
    for segment in segments:
        if segment is segments[-1] and _writes_indexes_later(partition):
            continue
        missing = [kind for kind in NEEDED_INDEXES if kind not in segment.files]
        for kind in missing if missing and _has_records(segment) else ():
            path = segment.log_path.with_suffix(f".{kind.value}")
            # A running broker may have made it since the directory was listed.
            if path.name not in partition.listing.escaping_links and not path.exists():
                yield report.warning(
                    "index-missing",
                    "the segment has records but no such index; Kafka rebuilds it at its next start",
                    file=path.name,
                )
    for kind in INDEX_KINDS:
        for _, path in partition.named(kind):
            if path.name not in taken:
                yield report.info(
                    "index-without-log",
                    "there is no segment for it; a broker removes it at its next start",
                    file=path.name,
                )


def _writes_indexes_later(partition: PartitionDirectory) -> bool:
    """Whether it is an open standalone log: its last segment's indexes are in memory until it rolls."""
    return partition.own_checkpoints is not None and not partition.checkpoints.clean_shutdown


def _has_records(segment: Segment) -> bool:
    try:
        return segment.size > 0
    except OSError:
        return False


def _own_checkpoints(
    partition: PartitionDirectory, checkpoints: RootCheckpoints, report: Reporter
) -> Iterator[Finding]:
    """Check the files that a log keeps for itself: they parse, and are this log's."""
    yield from check_checkpoints(checkpoints, report)
    yield from not_files(checkpoints.not_files - partition.listing.escaping_links.keys(), report)
    if CLEAN_SHUTDOWN_NAME in partition.listing.files:
        yield from check_clean_shutdown(partition.path / CLEAN_SHUTDOWN_NAME, report)
    for name, offsets in checkpoints.offsets.items():
        for other in sorted(offsets.keys() - {partition.topic_partition}):
            yield report.warning(
                "checkpoint-of-another-log",
                f"the file lists {other}, which is a different log: the directory was renamed, or the file belongs "
                "to another directory; its offsets are ignored",
                file=name,
                offset=offsets[other],
            )


def topic_id_missing(partition: PartitionDirectory) -> Iterator[Finding]:
    """Report a log without its topic's id where a broker would drop it for that.

    Before a broker with KRaft appends anything, it writes the file; at its start it takes a log without one for stray
    (Kafka: LogManager.isStrayKraftReplica). Under ZooKeeper a log may have none. Where no log of the root has one, and
    the cluster's metadata is not there either, nothing shows that the cluster knows topic ids: what mirrors one that
    does not, from before Kafka 2.8, looks the same.
    """
    is_brokers = partition.own_checkpoints is None and partition.topic_partition.topic != METADATA_TOPIC
    escapes = PARTITION_METADATA_NAME in partition.listing.escaping_links
    if escapes or not is_brokers or not any(map(_has_records, partition.segments)) or not _is_of_kraft(partition):
        return
    if not _knows_ids(partition.path.parent):
        yield Reporter(partition.topic_partition).info(
            TOPIC_ID_MISSING,
            f"{PARTITION_METADATA_NAME} is missing, in this directory and in all others of the root: so it is where "
            "topics have no ids, as in a mirror of a cluster before Kafka 2.8; if it is a broker's, with the cluster's "
            "metadata elsewhere, a start sets the log aside as stray: copy the file from another replica before",
            file=None,
        )
    else:
        yield Reporter(partition.topic_partition).error(
            TOPIC_ID_MISSING,
            f"{PARTITION_METADATA_NAME} is missing, although the log has records: a KRaft broker takes such a log for "
            "stray at its start, sets it aside in a directory of another name, which ends in -stray, and begins an "
            "empty one; with the broker stopped, copy the file from another replica",
            file=PARTITION_METADATA_NAME,
        )


def _knows_ids(root: Path) -> bool:
    """Whether a root shows that its cluster's topics have ids: another log has one, or the metadata is there."""
    try:
        return (root / f"{METADATA_TOPIC}-0").is_dir() or any(root.glob(f"*/{PARTITION_METADATA_NAME}"))
    except OSError:
        return True


def _is_of_kraft(partition: PartitionDirectory) -> bool:
    try:
        return MetaProperties.read(partition.path.parent / META_PROPERTIES_NAME).version > 0
    except (LogStoreError, OSError):
        return False


def _small_files(partition: PartitionDirectory, report: Reporter) -> Iterator[Finding]:
    files = partition.listing.files
    metadata = files.get(PARTITION_METADATA_NAME)
    if metadata is None:
        yield from topic_id_missing(partition)
    else:
        read_metadata = partial(PartitionMetadata.read, metadata)
        findings, _ = read_file(read_metadata, metadata.name, "partition-metadata-unparsable", report)
        yield from findings
    quorum_state = files.get(FileKind.QUORUM_STATE.value)
    if quorum_state is not None:
        read_state = partial(QuorumState.read, quorum_state)
        findings, _ = read_file(read_state, quorum_state.name, "quorum-state-unparsable", report)
        yield from findings
