"""Where a reader reads on."""

from pathlib import Path

import pytest

from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation

TRANSACTIONAL = BatchTemplate(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Three records; one that is aborted at 3, and the marker."""
    log = Log.open(tmp_path / "t-0")
    log.append([Record.of(b"a")] * 3, leader_epoch=0)
    log.append([Record.of(b"b")], leader_epoch=0, template=TRANSACTIONAL)
    log.append_end_transaction(7, 0, commit=False, leader_epoch=0)
    log.update_high_watermark(5)
    return log


def test_control_records_and_aborted_ones_are_read_over(log: Log) -> None:
    view = log.read(0, 1 << 20, isolation=Isolation.READ_COMMITTED)
    assert [record.offset for record in view.records()] == [0, 1, 2]
    assert view.next_offset == 5


@pytest.mark.parametrize(("offset", "next_offset"), [(0, 3), (2, 3), (3, 4), (4, 5)])
def test_a_whole_batch_is_read_from_its_middle_too(log: Log, offset: int, next_offset: int) -> None:
    assert log.read(offset, 1).next_offset == next_offset


@pytest.mark.parametrize("offset", [1, 5])
def test_an_empty_answer_leaves_the_reader_where_it_is(log: Log, offset: int) -> None:
    assert log.read(offset, 0, min_one_batch=False).next_offset == offset


def test_reading_on_comes_to_the_end(log: Log) -> None:
    offsets, offset = [], 0
    while (view := log.read(offset, 1)) and len(offsets) < 5:
        offsets.append(offset)
        offset = view.next_offset
    assert offsets == [0, 3, 4]
    assert offset == log.log_end_offset
