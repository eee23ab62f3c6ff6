"""What counts as a change that recovery made."""

import json
from dataclasses import fields

import pytest

from epoch.entry import EpochEntry
from logstore.recovery.dropped_tail import DroppedTail
from logstore.recovery.recovery_report import RecoveryReport


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


def test_as_a_document_it_has_plain_values() -> None:
    epochs = [EpochEntry(1, 0)]
    tail = DroppedTail("a", 3, 5, "torn")
    report = RecoveryReport(dropped=[tail], epochs_before=epochs, epochs_after=epochs, seconds=1.5)
    document = report.as_json()
    assert document == json.loads(json.dumps(document))
    assert set(document) == {field.name for field in fields(RecoveryReport)} | {"dropped_bytes"}
    assert document["epochs_before"] == document["epochs_after"] == [{"epoch": 1, "start_offset": 0}]
    assert (document["dropped_bytes"], document["damaged_epoch_checkpoint"], document["seconds"]) == (5, None, 1.5)
    damaged = RecoveryReport(damaged_epoch_checkpoint="line 3: no number").as_json()
    assert damaged["damaged_epoch_checkpoint"] == "line 3: no number"


def test_reading_alone_is_no_change() -> None:
    assert not RecoveryReport(recovered_segments=1, recovered_batches=3, recovered_bytes=200, seconds=1.0).changed
