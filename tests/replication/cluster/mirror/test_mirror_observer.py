"""What a mirror makes of what its fetchers tell."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from logstore import AppendInfo, Log, Record, TopicPartition
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.fetch_observer import Cut
from replication.cluster.fetcher.removed_records import RemovedRecords
from replication.cluster.mirror.events import Failed, Truncated
from replication.cluster.mirror.mirror_observer import MirrorObserver
from replication.cluster.mirror.truncated_records import TruncatedRecords
from replication.wire.error_code import ErrorCode
from tests.disk import FailingDisk

ORDERS = TopicPartition("orders", 0)
CUT = Cut(ORDERS, 4, 0, 10, 6, 7, "epoch 3 ends at 4 there")


@pytest.fixture
def told() -> list[Any]:
    return []


def filled(directory: Path) -> Log:
    log = Log.open(directory / "orders-0", replicated=True)
    for number in range(5):
        log.append([Record.of(b"%d" % number), Record.of(b"+")], leader_epoch=3)
    log.update_high_watermark(6)
    return log


def test_a_truncation_is_counted_kept_and_told(tmp_path: Path, told: list[Any]) -> None:
    observer = MirrorObserver(told.append, TruncatedRecords(tmp_path / "kept"))
    with filled(tmp_path) as log:
        observer.truncating(log, CUT)
        assert told == []
        log.truncate_to(4)
        observer.truncated(log, CUT)
    (event,) = told
    assert isinstance(event, Truncated)
    assert (event.removed.first_offset, event.removed.records) == (4, 6)
    assert event.kept is not None
    assert len(event.kept.read_bytes()) == event.removed.bytes
    tally = observer.tally(ORDERS)
    assert (tally.truncations, tally.truncations_below_high_watermark, tally.records_truncated) == (1, 1, 6)
    assert str(event) == (
        "orders-0: truncated to 4 from 10 under leader epoch 7: 6 records in "
        f"{event.removed.bytes} bytes removed, some below the high watermark 6; "
        f"epoch 3 ends at 4 there; kept in {event.kept}"
    )


def test_without_a_keeper_the_truncation_is_told_all_the_same(tmp_path: Path, told: list[Any]) -> None:
    observer = MirrorObserver(told.append)
    with filled(tmp_path) as log:
        observer.truncating(log, CUT)
        observer.truncated(log, CUT)
    assert told[0].as_json() == {
        "topic": "orders",
        "partition": 0,
        "leader_epoch": 7,
        "log_end_offset_before": 10,
        "log_end_offset": 4,
        "high_watermark_before": 6,
        "below_high_watermark": True,
        "starts_afresh": False,
        "records_removed": 6,
        "bytes_removed": told[0].removed.bytes,
        "reason": "epoch 3 ends at 4 there",
        "kept": None,
    }


def test_records_that_cannot_be_kept_are_not_cut(tmp_path: Path, told: list[Any]) -> None:
    observer = MirrorObserver(told.append, TruncatedRecords(tmp_path / "kept", FailingDisk(1)))
    with filled(tmp_path) as log, pytest.raises(OSError, match="space"):
        observer.truncating(log, CUT)
    assert told == []
    assert observer.tally(ORDERS).truncations == 0


def test_what_comes_and_what_goes_wrong_is_counted_by_partition(told: list[Any]) -> None:
    observer = MirrorObserver(told.append)
    state = FetchState(3, 10)
    observer.appended(ORDERS, AppendInfo(0, 9, 0, 500, is_duplicate=False), state)
    observer.appended(ORDERS, AppendInfo(10, 19, 0, 700, is_duplicate=False), state)
    observer.erred(ORDERS, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    observer.refused(ORDERS, ValueError("odd"))
    observer.failed(ORDERS, replace(state, reason="the disk is broken"))
    tally = observer.tally(ORDERS)
    assert (tally.bytes, tally.appends) == (1_200, 2)
    assert tally.errors == {"NOT_LEADER_OR_FOLLOWER": 1, "refused answer": 1}
    assert told[-1] == Failed(ORDERS, "the disk is broken")
    assert observer.tally(TopicPartition("orders", 1)).bytes == 0


def test_a_leader_that_cannot_be_reached_is_told_once_until_something_comes_again(told: list[Any]) -> None:
    observer = MirrorObserver(told.append)
    for address in ("one", "one", "two", "one"):
        observer.disconnected(address, "refused")
    observer.disconnected("one", "timed out")
    assert [(each.address, each.reason) for each in told] == [
        ("one", "refused"),
        ("two", "refused"),
        ("one", "timed out"),
    ]
    something = ORDERS, AppendInfo(0, 9, 0, 500, is_duplicate=False), FetchState(3, 10)
    # It comes from another leader.
    observer.appended(*something)
    observer.disconnected("one", "timed out")
    # It is reached, but hangs up before anything comes.
    observer.connected("one")
    observer.disconnected("one", "timed out")
    assert len(told) == 3
    observer.connected("one")
    observer.appended(*something)
    observer.disconnected("one", "timed out")
    assert len(told) == 4


def test_a_truncation_of_nothing_counts_as_none() -> None:
    observer = MirrorObserver(print)
    observer.tally(ORDERS).add_cut(RemovedRecords(10, 0, 0), is_below_high_watermark=False)
    assert observer.tally(ORDERS).truncations == 0
