"""What every test checks of a partition directory that it has written."""

from pathlib import Path

from logstore.files.offset_checkpoint import LOG_START_OFFSET_CHECKPOINT, OffsetCheckpoint
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import parse_directory_name
from logstore.verify.finding import Finding
from logstore.verify.verify import verify_partition

GAPS = {
    "offset-gap",
    "missing-segment",
    "epoch-start-differs",
    "epoch-without-batches",
    "epoch-beyond-log-end",
    "snapshot-beyond-log-end",
    "log-start-beyond-log-end",
}
"""What `verify` says to offsets that a follower was never given or that a truncation inside a batch skips, and to
leaders that wrote nothing."""


def findings(directory: Path, log_start_offset: int = 0) -> list[Finding]:
    """What `verify` reports as damage in a directory that was closed in order."""
    partition = parse_directory_name(directory.name).topic_partition
    starts = OffsetCheckpoint({partition: log_start_offset})
    checkpoints = RootCheckpoints({LOG_START_OFFSET_CHECKPOINT: starts}, clean_shutdown=True)
    found = verify_partition(PartitionDirectory.open(directory, checkpoints=checkpoints), records=True)
    return [finding for finding in found if finding.severity.needs_attention]


def assert_sound(
    directory: Path, log_start_offset: int = 0, *, expected: frozenset[str] | set[str] = frozenset()
) -> None:
    """Assert that `verify` finds nothing wrong, other than kinds that a test makes on purpose."""
    found = [finding for finding in findings(directory, log_start_offset) if finding.kind not in expected]
    assert not found, found
