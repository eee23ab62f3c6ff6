"""Which leader epochs of batches fit a history that counts."""

from pathlib import Path

import pytest

from epoch.history import EpochHistory
from logstore.file_name import FileKind, file_name
from logstore.offline.log_file import LogFile
from logstore.recovery.damage.epoch_order import EpochOrder
from tests.logstore.batches import batch, record


def end_of_fitting(directory: Path, epoch: int, history: EpochHistory, start: int) -> int:
    """Where the first batch begins that does not fit, of one with offsets 0 to 2 and one with 3."""
    first = batch(records=[record(offset_delta=each) for each in range(3)], base_offset=0, leader_epoch=epoch)
    second = batch(records=[record()], base_offset=3, leader_epoch=5)
    path = directory / file_name(FileKind.LOG, 0)
    path.write_bytes(first + second)
    with LogFile.open(path) as log:
        return EpochOrder(history, start).end_of_fitting(log) - len(first + second)


@pytest.mark.parametrize(("epoch", "fits"), [(3, False), (4, False), (5, True)])
def test_a_batch_in_which_the_log_starts_is_of_the_epoch_there(tmp_path: Path, epoch: int, fits: bool) -> None:
    history = EpochHistory([(5, 2)])  # of those below the start nothing is known
    assert (end_of_fitting(tmp_path, epoch, history, start=2) == 0) == fits


def test_a_batch_below_the_start_fits_whatever_it_is_of(tmp_path: Path) -> None:
    assert end_of_fitting(tmp_path, 9, EpochHistory([(5, 3)]), start=3) == 0
