"""What every test checks of a partition directory that it has written."""

from pathlib import Path

from logstore.partition_directory import PartitionDirectory
from logstore.root_checkpoints import RootCheckpoints
from logstore.verify.finding import Finding, Severity
from logstore.verify.verify import verify_partition


def findings(directory: Path) -> list[Finding]:
    """Everything that `verify` reports above a note."""
    partition = PartitionDirectory.open(directory, checkpoints=RootCheckpoints(clean_shutdown=True))
    return [finding for finding in verify_partition(partition, records=True) if finding.severity is not Severity.INFO]


def assert_sound(directory: Path) -> None:
    """Assert that `verify` finds nothing wrong."""
    assert findings(directory) == []
