"""A log that is truncated: where it begins and ends afterwards, and what is forgotten. Kafka's log does the same."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.file_name import FileFate, parse_file_name
from logstore.log.log import Log
from logstore.log.observers.log_observer import LogObserver
from logstore.log_config import LogConfig
from tests.logstore.batches import batch, record, simple_batch
from tests.logstore.golden import LEGACY

IS_TRANSACTIONAL = 0x10
SEGMENT_BYTES = 300


class Removed(LogObserver):
    """Remembers what truncations told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int, int]] = []

    def truncated(self, log: Path, log_end_offset: int, bytes_removed: int) -> None:
        self.told.append((log.name, log_end_offset, bytes_removed))


@pytest.fixture
def observer() -> Removed:
    return Removed()


@pytest.fixture
def log(tmp_path: Path, observer: Removed) -> Iterator[Log]:
    """Offsets 10 to 22 in batches of one record and several segments, of epochs 1 to 3; 20 is the high watermark."""
    log = Log.open(tmp_path / "t-0", LogConfig(segment_bytes=SEGMENT_BYTES), observer=observer)
    log.truncate_fully_and_start_at(10)
    for offset in range(10, 22):
        log.append_batches(simple_batch(offset, leader_epoch=1 + (offset - 10) // 4))
    assert len(log.segments) > 2
    log.update_high_watermark(20)
    observer.told.clear()
    yield log
    log.abandon()


def file_names(log: Log) -> set[str]:
    return {path.name for path in log.directory.iterdir()}


def ends(log: Log) -> tuple[int, int, int]:
    return log.log_start_offset, log.high_watermark, log.log_end_offset


def offsets(log: Log) -> list[int]:
    return [batch.base_offset for segment in log.segments for batch in segment.batches(0)]


def crashed(log: Log) -> Log:
    """Open it again as after a crash."""
    log.abandon()
    return Log.open(log.directory, log.config)


def test_it_ends_there_and_forgets_the_epochs_that_begin_there_or_later(log: Log, observer: Removed) -> None:
    size = log.size
    assert log.truncate_to(18)
    assert ends(log) == (10, 18, 18)
    assert log.epochs.entries == [(1, 10), (2, 14)]
    assert offsets(log) == [*range(10, 18)]
    assert observer.told == [("t-0", 18, size - log.size)]
    assert size > log.size


def test_where_it_ends_already_only_an_epoch_without_records_is_forgotten(log: Log, observer: Removed) -> None:
    log.assign_epoch(7, 22)
    assert not log.truncate_to(22)
    assert ends(log) == (10, 20, 22)
    assert log.epochs.entries == [(1, 10), (2, 14), (3, 18)]
    assert observer.told == []
    log.append([Record.of(b"value")], leader_epoch=7)
    assert log.epochs.latest == (7, 22)


def test_an_epoch_that_was_to_begin_beyond_the_end_begins_where_its_leader_writes(log: Log) -> None:
    log.assign_epoch(7, 30)
    log.append([Record.of(b"value")], leader_epoch=7)
    assert log.epochs.latest == (7, 22)


def test_an_epoch_that_was_truncated_begins_anew(log: Log) -> None:
    log.truncate_to(16)
    log.append_batches(simple_batch(16, leader_epoch=3))
    assert log.epochs.entries == [(1, 10), (2, 14), (3, 16)]


def test_truncated_to_where_it_begins_it_keeps_its_first_file(log: Log) -> None:
    first = log.segments[0].base_offset
    assert log.truncate_to(first)
    assert ends(log) == (10, 10, 10)
    deleted = {parse_file_name(name).base_offset for name in file_names(log) if ".deleted" in name}
    assert first not in deleted


def test_truncated_to_before_it_begins_it_begins_there_anew(log: Log, observer: Removed) -> None:
    size = log.size
    assert log.truncate_to(4)
    assert ends(log) == (4, 4, 4)
    assert [segment.base_offset for segment in log.segments] == [4]
    assert log.epochs.entries == []
    assert observer.told == [("t-0", 4, size)]
    with crashed(log) as again:
        assert ends(again) == (4, 4, 4)


def test_it_begins_no_later_than_it_ends(log: Log) -> None:
    log.delete_records(18)
    log.flush()
    assert log.truncate_to(15)
    assert ends(log) == (15, 15, 15)
    with crashed(log) as again:
        assert ends(again) == (15, 15, 15)


def test_all_of_it_may_go(log: Log, observer: Removed) -> None:
    size = log.size
    log.truncate_fully_and_start_at(40)
    assert ends(log) == (40, 40, 40)
    assert (log.epochs.entries, log.size) == ([], 0)
    assert observer.told == [("t-0", 40, size)]
    with crashed(log) as again:
        assert ends(again) == (40, 40, 40)


def test_where_the_leader_has_earlier_records_elsewhere_it_starts_earlier(log: Log) -> None:
    log.truncate_fully_and_start_at(40, log_start_offset=12)
    assert ends(log) == (12, 40, 40)
    # Kafka writes down who produced up to there, as after any truncation.
    assert f"{40:020d}.snapshot" in file_names(log)


def open_transaction(offset: int) -> bytes:
    return batch(
        base_offset=offset,
        leader_epoch=3,
        attributes=IS_TRANSACTIONAL,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        records=[record(value=b"undecided")],
    )


@pytest.mark.parametrize(
    "truncate",
    [lambda log: log.truncate_to(21), lambda log: log.truncate_fully_and_start_at(30)],
    ids=["to", "fully"],
)
def test_a_transaction_that_is_truncated_holds_up_no_reader(log: Log, truncate: Callable[[Log], object]) -> None:
    log.append_batches(open_transaction(22))
    log.update_high_watermark(23)
    assert log.last_stable_offset == 22
    truncate(log)
    for number in range(4):
        log.append([Record.of(b"%d" % number)], leader_epoch=9)
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == log.log_end_offset


def test_a_transaction_that_remains_is_still_open(log: Log) -> None:
    log.append_batches(open_transaction(22))
    log.append_batches(simple_batch(23, leader_epoch=3))
    log.truncate_to(23)
    log.update_high_watermark(23)
    assert log.last_stable_offset == 22


def test_batches_of_before_kip_101_end_the_history_of_epochs(log: Log) -> None:
    data = bytearray((LEGACY / "magic1-none.log").read_bytes())
    log.truncate_fully_and_start_at(0)
    log.append_batches(simple_batch(0, leader_epoch=5))
    data[:8] = (1).to_bytes(8, "big")
    log.append_batches(bytes(data[: 12 + int.from_bytes(data[8:12], "big")]))
    assert log.epochs.entries == []


def test_what_cannot_be_read_fails_before_anything_changes(log: Log) -> None:
    log.append_batches(open_transaction(22))
    snapshot = log.directory / f"{18:020d}.snapshot"
    snapshot.unlink()
    snapshot.mkdir()
    before = file_names(log)
    with pytest.raises(IsADirectoryError, match=snapshot.name):
        log.truncate_to(20)
    assert (log.log_end_offset, file_names(log)) == (23, before)
    snapshot.rmdir()
    with log.recover() as recovered:
        assert recovered.log_end_offset == 23
        assert recovered.truncate_to(20)


def test_the_files_of_what_was_truncated_await_their_deletion(log: Log) -> None:
    later = {segment.base_offset for segment in log.segments[1:]}
    before = file_names(log)
    log.truncate_to(11)
    parsed = map(parse_file_name, file_names(log) - before)
    assert {file.base_offset for file in parsed if file.fate is FileFate.DELETED} == later
