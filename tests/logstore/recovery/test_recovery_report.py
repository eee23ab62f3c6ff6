"""What counts as a change that recovery made."""

import pytest

from epoch.entry import EpochEntry
from logstore.recovery.recovery_report import DroppedTail, RecoveryReport


@pytest.mark.parametrize(
    "report",
    [
        RecoveryReport(removed_files=["a"]),
        RecoveryReport(renamed_files=["a"]),
        RecoveryReport(rebuilt_indexes=["a"]),
        RecoveryReport(dropped=[DroppedTail("a", 0, 5, "torn")]),
        RecoveryReport(epochs_before=[EpochEntry(1, 0)]),
    ],
    ids=["removed", "renamed", "rebuilt", "dropped", "epochs"],
)
def test_each_kind_of_change_counts(report: RecoveryReport) -> None:
    assert report.changed


def test_reading_alone_is_no_change() -> None:
    assert not RecoveryReport(recovered_segments=1, recovered_batches=3, recovered_bytes=200, seconds=1.0).changed
