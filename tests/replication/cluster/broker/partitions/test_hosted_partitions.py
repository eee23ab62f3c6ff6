"""Who waits for a partition hears what becomes of it."""

from pathlib import Path

import pytest

from logstore import Log, Record, TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from tests.replication.cluster.broker.requests.small_broker import change_leader

FIRST = TopicPartition("orders", 0)


class Sleeper:
    woken = 0

    def wake(self) -> None:
        self.woken += 1


@pytest.fixture
def hosted(tmp_path: Path) -> HostedPartition:
    return HostedPartition(Log.open(tmp_path / "orders-0", replicated=True), 3)


def test_every_change_of_the_log_or_of_who_leads_wakes(hosted: HostedPartition) -> None:
    log = hosted.log
    assert isinstance(log, Log)
    sleeper = Sleeper()
    hosted.attend(sleeper)
    for change in (
        lambda: log.append([b"a", b"b"]),
        lambda: log.advance_high_watermark(2),
        lambda: log.delete_records(1),
        lambda: log.truncate_to(1),
        lambda: change_leader(hosted, 4, is_leader=False),
        log.close,
    ):
        before = sleeper.woken
        change()
        assert sleeper.woken > before
    hosted.leave(sleeper)
    before = sleeper.woken
    change_leader(hosted, 5, is_leader=True)
    assert sleeper.woken == before


def test_losing_or_replacing_a_copy_wakes(hosted: HostedPartition) -> None:
    partitions = HostedPartitions({FIRST: hosted})
    sleeper = Sleeper()
    hosted.attend(sleeper)
    partitions[FIRST] = hosted
    assert sleeper.woken == 0
    partitions[FIRST] = HostedPartition(hosted.log, 4)
    assert sleeper.woken == 1
    del partitions[FIRST]
    assert sleeper.woken == 1


def test_nobody_waits_for_ever_whom_nobody_else_knows(hosted: HostedPartition) -> None:
    hosted.attend(Sleeper())
    assert isinstance(hosted.log, Log)
    hosted.log.append([Record.of(b"a")])
    assert not hosted.log._contents.end_waiters


def test_who_waits_for_a_log_that_has_moved_waits_for_the_other_one(hosted: HostedPartition, tmp_path: Path) -> None:
    sleeper = Sleeper()
    hosted.attend(sleeper)
    before = hosted.log
    (tmp_path / "moved").mkdir()
    with Log.open(tmp_path / "moved" / "orders-0", replicated=True) as moved:
        hosted.replace_log(moved, str(tmp_path / "moved"))
        assert (hosted.log, hosted.root) == (moved, str(tmp_path / "moved"))
        woken = sleeper.woken
        assert woken
        moved.append([b"a"])
        assert sleeper.woken > woken
        hosted.leave(sleeper)
        woken = sleeper.woken
        moved.append([b"b"])
        assert sleeper.woken == woken
    before.close()  # type: ignore[attr-defined]


def test_whoever_goes_through_them_meets_no_change(hosted: HostedPartition) -> None:
    """One thread takes partitions away while others print them."""
    second = TopicPartition("orders", 1)
    partitions = HostedPartitions({FIRST: hosted, second: hosted})
    items, values = partitions.items(), partitions.values()
    del partitions[second]
    assert list(items) == [(FIRST, hosted), (second, hosted)]
    assert list(values) == [hosted, hosted]
    assert list(partitions.items()) == [(FIRST, hosted)]
