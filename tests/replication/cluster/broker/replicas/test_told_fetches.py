"""What a broker tells and counts of the partitions that it follows."""

from pathlib import Path

import pytest

from logstore import AppendInfo, Log, Record, TopicPartition
from replication.cluster.broker.events.partition_events import Truncated
from replication.cluster.broker.partitions.broker_traffic import BrokerTraffic
from replication.cluster.broker.replicas.told_fetches import MOST_COUNTED_BYTES, ToldFetches
from replication.cluster.fetcher.decisions.actions import StartAfresh, Truncate
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.followed_log import FollowedLog
from tests.replication.cluster.broker.events.heard_troubles import HeardTroubles

ORDERS = TopicPartition("orders", 0)


def filled(log: Log) -> None:
    """Four batches of three records, the last two of epoch 2."""
    for epoch in (1, 1, 2, 2):
        log.append([Record.of(b"value")] * 3, leader_epoch=epoch)


@pytest.mark.parametrize("high_watermark", [6, 7])
def test_a_truncation_is_told_in_whole_batches(tmp_path: Path, high_watermark: int) -> None:
    told: list[Truncated] = []
    with Log.open(tmp_path / "orders-0", replicated=True) as log:
        filled(log)
        size = log.size
        log.advance_high_watermark(high_watermark)
        FollowedLog(ORDERS, log, ToldFetches(told.append, BrokerTraffic())).cut(Truncate(6, "epoch 1 ends there"), 3)
        removed = size - log.size
    assert told == [
        Truncated(
            partition=ORDERS,
            leader_epoch=3,
            last_epoch_before=2,
            last_epoch=1,
            before=12,
            after=6,
            records=6,
            size=removed,
            high_watermark=high_watermark,
            is_below_high_watermark=high_watermark > 6,
            why="epoch 1 ends there",
        )
    ]


def test_where_all_of_a_log_goes_nothing_is_read_to_count_it(tmp_path: Path) -> None:
    told: list[Truncated] = []
    with Log.open(tmp_path / "orders-0", replicated=True) as log:
        filled(log)
        FollowedLog(ORDERS, log, ToldFetches(told.append, BrokerTraffic())).cut(StartAfresh(50, "it starts there"), 3)
    (event,) = told
    assert (event.before, event.after, event.records, event.size, event.last_epoch) == (12, 50, None, None, -1)


def _removed_of(directory: Path, *, batches: int, batch_bytes: int) -> Truncated:
    told: list[Truncated] = []
    with Log.open(directory, replicated=True) as log:
        filled(log)
        for _ in range(batches):
            log.append([Record.of(bytes(batch_bytes))], leader_epoch=2)
        FollowedLog(ORDERS, log, ToldFetches(told.append, BrokerTraffic())).cut(Truncate(12, "epoch 2 ends there"), 3)
        assert log.log_end_offset == 12
    (event,) = told
    return event


@pytest.mark.parametrize(("batches", "is_counted"), [(1, True), (7, True), (8, False), (20, False)])
def test_what_is_too_much_to_read_is_removed_without_being_counted(
    tmp_path: Path, batches: int, is_counted: bool
) -> None:
    event = _removed_of(tmp_path / "orders-0", batches=batches, batch_bytes=MOST_COUNTED_BYTES // 8)
    assert event.records == (batches if is_counted else None)
    assert (event.size is None) is not is_counted


def test_what_cannot_be_counted_is_removed_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unforeseen(*_: object, **__: object) -> None:
        raise RuntimeError("the scan has a fault")

    monkeypatch.setattr("replication.cluster.fetcher.removed_records.scan_batches", unforeseen)
    event = _removed_of(tmp_path / "orders-0", batches=1, batch_bytes=1)
    assert (event.before, event.after, event.records) == (13, 12, None)


def test_a_truncation_without_records_is_none(tmp_path: Path) -> None:
    told: list[Truncated] = []
    with Log.open(tmp_path / "orders-0", replicated=True) as log:
        filled(log)
        FollowedLog(ORDERS, log, ToldFetches(told.append, BrokerTraffic())).cut(Truncate(12, "at its end"), 3)
    assert told == []


def test_what_is_copied_is_counted() -> None:
    traffic = BrokerTraffic()
    fetches = ToldFetches(lambda _: None, traffic)
    for size in (100, 50):
        fetches.appended(ORDERS, AppendInfo(0, 4, -1, size), FetchState(0, 5))
    total, topics = traffic.totals()
    assert total.replication_bytes_in == 150
    assert topics["orders"].messages_in == 0


def test_a_leader_that_cannot_be_followed_is_told_once_until_it_has_answered() -> None:
    told = HeardTroubles()
    fetches = ToldFetches(lambda _: None, BrokerTraffic(), told)
    for reason in ("Connection refused", "timed out"):
        fetches.connected("broker1:9092")
        fetches.disconnected("broker1:9092", reason)
    fetches.disconnected("broker2:9092", "the login was refused")
    assert told == ["leader broker1:9092", "leader broker2:9092"]
    assert "Connection refused" in told.reasons[0]
    for _ in range(2):
        fetches.answered("broker1:9092")
    assert told[2:] == ["leader broker1:9092 over"]


def test_a_leader_that_is_followed_no_more_is_no_trouble() -> None:
    told = HeardTroubles()
    fetches = ToldFetches(lambda _: None, BrokerTraffic(), told)
    fetches.disconnected("broker1:9092", "Connection refused")
    fetches.left("broker1:9092")
    fetches.left("broker2:9092")
    assert told == ["leader broker1:9092", "leader broker1:9092 over"]
