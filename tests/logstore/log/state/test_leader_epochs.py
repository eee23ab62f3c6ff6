"""A leader's epoch: by default the latest, never a lower one unless that is asked for."""

from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.errors import FencedLeaderEpochError
from logstore.log.log import Log
from logstore.log_config import LogConfig

RECORDS = [Record.of(b"value")]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Epochs 1, 2 and 3 of one record each."""
    log = Log.open(tmp_path / "t-0")
    for epoch in (1, 2, 3):
        log.append(RECORDS, leader_epoch=epoch)
    return log


def test_a_new_log_begins_in_epoch_0(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append(RECORDS)
        log.append_end_transaction(7, 0, commit=True)
        assert log.epochs.entries == [(0, 0)]
        assert [batch.leader_epoch for batch in log.read(0, 1 << 20).batches()] == [0, 0]


@pytest.mark.parametrize("change", ["nothing", "restart", "truncation", "new epoch"])
def test_the_latest_epoch_goes_on(log: Log, change: str) -> None:
    match change:
        case "restart":
            log.close()
            log = Log.open(log.directory)
        case "truncation":
            log.truncate_to(2)  # what follows is told from what is gone
        case "new epoch":
            log.assign_epoch(7, 3)
    info = log.append(RECORDS)
    expected = {"truncation": 4, "new epoch": 7}.get(change, 3)
    assert [batch.leader_epoch for batch in log.read(info.first_offset, 1).batches()] == [expected]
    log.close()


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_an_epoch_that_is_over_is_refused_and_nothing_changes(log: Log, epoch: int) -> None:
    before, end = log.epochs.entries, log.log_end_offset
    appends = (
        lambda: log.append(RECORDS, leader_epoch=epoch),
        lambda: log.append_end_transaction(7, 0, commit=True, leader_epoch=epoch),
        lambda: log.assign_epoch(epoch, 3),
    )
    for append in appends:
        with pytest.raises(
            FencedLeaderEpochError, match=f"leader epoch {epoch} is fenced: epoch 3 leads from offset 2"
        ):
            append()
    assert (log.epochs.entries, log.log_end_offset, log.failure) == (before, end, None)
    log.append(RECORDS, leader_epoch=3)
    log.abandon()
    log = Log.open(log.directory)
    assert log.epochs.entries == before
    log.close()


def test_kafkas_classes_forget_later_epochs_and_so_does_who_asks_for_it(log: Log) -> None:
    log.close()
    forgetting = Log.open(log.directory, LogConfig(takes_lower_epochs=True))
    forgetting.append(RECORDS, leader_epoch=1)
    assert forgetting.epochs.entries == [(1, 3)]
    forgetting.abandon()
    with Log.open(log.directory) as recovered:
        assert recovered.epochs.entries == [(1, 3)]
    assert LogConfig.of({"takes.lower.epochs": "true"}) == LogConfig()
