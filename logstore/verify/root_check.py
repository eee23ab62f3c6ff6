"""The checkpoint files of a log.dirs root agree with the logs under it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from logstore.errors import LogStoreError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.broker.kept_claims import KEPT_CLAIMS_NAME
from logstore.files.broker.other_roots import OTHER_ROOTS_NAME
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.meta_properties import MetaProperties
from logstore.files.offset_checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)
from logstore.files.only_copy.space_reserve import RESERVE_NAME
from logstore.files.root_checkpoints import PartitionCheckpoints, RootCheckpoints
from logstore.offline.offline_log_directory import (
    BOOTSTRAP_CHECKPOINT_NAME,
    ROOT_DIRECTORIES,
    ROOT_FILES,
    OfflineLogDirectory,
)
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import DirectoryMark, is_partition_directory_name, parse_directory_name
from logstore.verify.finding import UNREADABLE, Finding, Reporter, Severity
from logstore.verify.own_files_check import check_kept_claims, kept_end
from logstore.verify.reading import read_file
from logstore.verify.snapshot_check import check_snapshot

_MARKS = {
    DirectoryMark.DELETE: "marked for deletion; a broker removes it at its next start",
    DirectoryMark.FUTURE: "a copy being moved between log.dirs; it takes the live log's place when it has caught up",
    DirectoryMark.STRAY: "found by a broker to which the partition is not assigned",
}

START_BEYOND_END: Final = "log-start-beyond-log-end"
HIGH_WATERMARK_BEYOND_END: Final = "high-watermark-beyond-log-end"
RECOVERY_POINT_BEYOND_END: Final = "recovery-point-beyond-log-end"


def check_root(root: OfflineLogDirectory) -> Iterator[Finding]:
    """Check the files beside the partitions: checkpoint files, identity, what is missing, what is left over."""
    report = Reporter(None)
    yield from check_checkpoints(root.checkpoints, report)
    yield from not_files(_not_files(root), report)
    yield from _small_files(root, report)
    for name in root.listing.escaping_links:
        yield report.error("link-leaves-root", "a symbolic link that leaves the root: it was not followed", file=name)
    for name in root.listing.files:
        if name.endswith(".tmp"):
            yield report.info(
                "left-over-tmp", "written but never put in place: a crash left it, it may be removed", file=name
            )
        elif name not in ROOT_FILES | {KEPT_CLAIMS_NAME, OTHER_ROOTS_NAME, RESERVE_NAME}:
            yield report.info("unknown-file", "not a file that Kafka writes in a log.dirs root", file=name)
    for name in root.listing.directories:
        if is_partition_directory_name(name):
            mark = parse_directory_name(name).mark
            if mark is not DirectoryMark.NONE:
                partition = Reporter(parse_directory_name(name).topic_partition)
                yield partition.info("left-over-directory", f"{name}: {_MARKS[mark]}", file=None)
        elif name not in ROOT_DIRECTORIES | ROOT_FILES:
            yield report.info("unknown-directory", "not the name of a partition's directory", file=name)
    yield from check_kept_claims(root.path, report)
    yield from _missing_partitions(root)


def check_checkpoints(checkpoints: RootCheckpoints, report: Reporter) -> Iterator[Finding]:
    """Report the checkpoint files that could not be read."""
    for name, error in checkpoints.errors.items():
        if isinstance(error, LogStoreError):
            yield report.error("checkpoint-unparsable", str(error), file=name)
        else:
            yield report.unreadable(error, "what it says of the partitions was not checked", file=name)


def not_files(names: Iterable[str], report: Reporter) -> Iterator[Finding]:
    """Report what is not a regular file where one of the broker's files belongs."""
    for name in sorted(names):
        yield report.error(
            "not-a-file",
            "this is not a regular file: it was not read, so its content is unknown; "
            "move it away with the broker stopped",
            file=name,
        )


def _not_files(root: OfflineLogDirectory) -> set[str]:
    """Name them; links that leave the root are reported as such."""
    listing = root.listing
    found = ROOT_FILES.intersection([*listing.directories, *listing.other])
    return {*found, *root.checkpoints.not_files} - listing.escaping_links.keys()


def _small_files(root: OfflineLogDirectory, report: Reporter) -> Iterator[Finding]:
    meta_properties = root.listing.files.get(META_PROPERTIES_NAME)
    if meta_properties is not None:
        read_properties = partial(MetaProperties.read, meta_properties)
        findings, properties = read_file(read_properties, META_PROPERTIES_NAME, "meta-properties-unparsable", report)
        yield from findings
        for doubt in properties.doubts if properties is not None else ():
            yield report.warning(
                "meta-properties-doubtful",
                f"{doubt}: Kafka never writes it so, and reads past it; compare with the broker's other log.dirs",
                file=META_PROPERTIES_NAME,
            )
    clean_shutdown = root.listing.files.get(CLEAN_SHUTDOWN_NAME)
    if clean_shutdown is not None:
        yield from check_clean_shutdown(clean_shutdown, report)
    bootstrap = root.listing.files.get(BOOTSTRAP_CHECKPOINT_NAME)
    if bootstrap is not None:
        yield from check_snapshot(bootstrap, report, epoch=0)


def check_clean_shutdown(path: Path, report: Reporter) -> Iterator[Finding]:
    """Check the file that a broker leaves when it stops and removes when it starts."""
    read = partial(CleanShutdown.read, path)
    findings, _ = read_file(read, path.name, "clean-shutdown-unparsable", report)
    for finding in findings:
        # Kafka takes its presence for enough.
        yield finding if finding.kind == UNREADABLE else replace(finding, severity=Severity.WARNING)


def _missing_partitions(root: OfflineLogDirectory) -> Iterator[Finding]:
    present = {
        parse_directory_name(name).topic_partition
        for name in root.listing.directories
        if is_partition_directory_name(name)
    }
    missing = sorted(root.checkpoints.partitions() - present)
    # A broker may have made or deleted it since the root was listed.
    still_named = RootCheckpoints.read(root.path).partitions() if missing else set()
    for partition in missing:
        if partition not in still_named or (root.path / str(partition)).exists():
            continue
        named_in = [name for name, offsets in root.checkpoints.offsets.items() if partition in offsets]
        yield Reporter(partition).warning(
            "partition-missing",
            f"{', '.join(named_in)} list the partition, but its directory is missing: deleted without the broker's "
            "knowledge, or not copied",
            file=None,
        )


_MAYBE_LATE: Final = (
    "; or the broker runs, has begun an empty log in place of a lost one, and has not written the file since, which it "
    "does once a minute: look again then"
)


@dataclass(frozen=True, slots=True)
class _Claim:
    file: str
    kind: str
    name: str
    offset: int | None
    meaning: str


def check_claims(partition: PartitionDirectory, log_end_offset: int) -> Iterator[Finding]:
    """Compare what the root's checkpoints claim about a partition with where its log ends."""
    report = Reporter(partition.topic_partition)
    for claim in _claims(partition.checkpoints):
        if claim.offset is not None and claim.offset > log_end_offset:
            yield report.error(
                claim.kind,
                f"{claim.name} {claim.offset} is above the log's end at {log_end_offset}: {claim.meaning}",
                file=claim.file,
                offset=claim.offset,
            )
    kept = kept_end(partition)
    if kept > log_end_offset:
        yield report.error(
            "short-of-claims",
            f"a broker has found that the log reached offset {kept:,} once, and it ends at {log_end_offset:,}: make "
            "another replica the leader that has the records; the file is removed once the log has them again, or "
            "the loss is accepted",
            file=KEPT_CLAIMS_NAME,
            offset=log_end_offset,
        )
    recovery_point = partition.checkpoints.recovery_point
    if partition.checkpoints.clean_shutdown and recovery_point is not None and recovery_point < log_end_offset:
        yield report.warning(
            "clean-shutdown-doubtful",
            "the file marks a clean shutdown, which flushes everything, but the recovery point "
            f"{recovery_point} is below the log's end at {log_end_offset}: recovery may be skipped although it is "
            "needed",
            file=CLEAN_SHUTDOWN_NAME,
            offset=recovery_point,
        )


def _claims(checkpoints: PartitionCheckpoints) -> Iterator[_Claim]:
    yield _Claim(
        HIGH_WATERMARK_CHECKPOINT,
        HIGH_WATERMARK_BEYOND_END,
        "high watermark",
        checkpoints.high_watermark,
        "committed records are gone from this replica; check that another one has them before this one leads",
    )
    yield _Claim(
        RECOVERY_POINT_CHECKPOINT,
        RECOVERY_POINT_BEYOND_END,
        "recovery point",
        checkpoints.recovery_point,
        "flushed records are gone from this replica, and damage below it is not looked for; check that another "
        f"replica has them before this one leads{'' if checkpoints.clean_shutdown else _MAYBE_LATE}",
    )
    yield _Claim(
        LOG_START_OFFSET_CHECKPOINT,
        START_BEYOND_END,
        "log start offset",
        checkpoints.log_start_offset,
        "Kafka drops the whole log and starts an empty one there; correct the file with the broker stopped",
    )
    yield _Claim(
        CLEANER_OFFSET_CHECKPOINT,
        "cleaner-beyond-log-end",
        "cleaned offset",
        checkpoints.cleaner_offset,
        "the cleaner starts again from the log's beginning; see what cut the log",
    )
