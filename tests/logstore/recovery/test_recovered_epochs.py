"""A log that may lack what readers have seen goes on in an epoch that none of them has seen."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch.entry import EpochEntry
from epoch.history import MAX_EPOCH, EpochHistory
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.recovery.recovered_epochs import next_epoch

entries = st.lists(st.builds(EpochEntry, st.integers(0, 9), st.integers(0, 9)), max_size=4)


found_epochs = st.lists(st.integers(-1, 9), max_size=4)


@given(found_epochs, entries)
def test_it_is_above_all_that_was_found(found: list[int], left: list[EpochEntry]) -> None:
    kept = EpochHistory(left)
    seen = [epoch for epoch in (*found, *(entry.epoch for entry in kept.entries)) if epoch >= 0]
    expected = max(seen) + 1 if seen else None
    assert next_epoch(found, kept, may_lack=True) == expected


@given(found_epochs, entries)
def test_of_a_log_that_lacks_nothing_the_latest_goes_on(found: list[int], left: list[EpochEntry]) -> None:
    kept = EpochHistory(left)
    expected = max(found, default=-1)
    latest = -1 if kept.latest_epoch is None else kept.latest_epoch
    assert next_epoch(found, kept, may_lack=False) == (expected if expected > latest else None)


def test_there_is_none_above_the_last_one() -> None:
    assert next_epoch([MAX_EPOCH], EpochHistory(), may_lack=True) == MAX_EPOCH


def epochs_of(log: Log) -> list[int]:
    return [batch.leader_epoch for batch in log.read(log.log_start_offset, 1 << 20).batches()]


@pytest.mark.parametrize(("stops", "expected"), [
    (["close"], 0),
    (["close", "close"], 0),
    (["abandon"], 1),
    (["abandon", "close"], 1),
    (["abandon", "close", "close"], 1),
    (["abandon", "abandon"], 1),
    (["abandon", "close", "abandon"], 2),
])  # fmt: skip
def test_a_log_begins_an_epoch_once_it_is_written_after_a_crash(
    tmp_path: Path, stops: list[str], expected: int
) -> None:
    log = Log.open(tmp_path / "t-0")
    log.append([b"before"])
    for stop in stops:
        getattr(log, stop)()
        log = Log.open(log.directory)
        assert log.epochs.entries == [(0, 0)]
    log.append([b"after"])
    assert epochs_of(log) == [0, expected]
    log.close()
    with Log.open(log.directory) as again:
        again.append([b"later"])
        assert epochs_of(again) == [0, expected, expected]


def test_who_says_the_epoch_knows_who_led(tmp_path: Path) -> None:
    crashed = Log.open(tmp_path / "t-0")
    crashed.append([b"before"])
    crashed.abandon()
    with Log.open(crashed.directory) as log:
        log.append([b"after"], leader_epoch=0)
        log.append([b"after"])
        log.flush()
        assert log.epochs.entries == [(0, 0)]
        assert (log.directory / "leader-epoch-checkpoint").read_bytes() == b"0\n1\n0 0\n"


def test_nothing_is_written_before_the_first_append(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0")
    log.append([b"before"])
    log.abandon()
    before = (log.directory / "leader-epoch-checkpoint").read_bytes()
    log = Log.open(log.directory)
    assert (log.directory / "leader-epoch-checkpoint").read_bytes() == before
    log.append([b"after"])
    assert (log.directory / "leader-epoch-checkpoint").read_bytes() == b"0\n2\n0 0\n1 1\n"
    log.abandon()


@pytest.mark.parametrize("replicated", [True, False])
def test_of_a_replicated_log_the_epochs_come_from_elsewhere(tmp_path: Path, replicated: bool) -> None:
    log = Log.open(tmp_path / "t-0", replicated=replicated)
    log.append([b"before"], leader_epoch=3)
    log.abandon()
    log = Log.open(log.directory, replicated=replicated)
    assert log.epochs.reserved == (None if replicated else (4, 1))
    log.append([b"after"], leader_epoch=3)
    log.close()


@pytest.mark.parametrize(
    ("cut", "start"), [(lambda log: log.truncate_fully_and_start_at(5), 5), (lambda log: log.truncate_to(0), 0)]
)
def test_one_that_led_is_kept_from_where_a_cut_lets_the_log_go_on(
    tmp_path: Path, cut: Callable[[Log], object], start: int
) -> None:
    log = Log.open(tmp_path / "t-0")
    log.append_batches(bytes(encode_batch([Record.of(b"followed")], BatchTemplate(leader_epoch=0))))
    log.abandon()
    with Log.open(log.directory) as log:
        log.append([b"after"], leader_epoch=1)
        cut(log)
        assert log.epochs.reserved == (1, start)
    assert (log.directory / "leader-epoch-checkpoint").read_text() == f"0\n1\n1 {start}\n"
