"""What a full disk has kept from being served is served once there is room."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logstore import Log, LogPoisonedError
from logstore.errors import CorruptMetadataError
from replication.records.metadata.partition import LeaderRecoveryState
from replication.records.metadata.records import ConfigRecord
from tests.disk import FullAtSyncs
from tests.replication.cluster.broker.replicas.managed_broker import (
    ME,
    ORDERS,
    OTHER,
    Broker,
    batch,
    changed,
    made,
    registered,
)


@pytest.fixture
def disk() -> FullAtSyncs:
    return FullAtSyncs()


@pytest.fixture
def small(tmp_path: Path, disk: FullAtSyncs) -> Iterator[Broker]:
    broker = Broker(tmp_path, filesystem=disk)
    yield broker
    disk.is_full = False
    broker.replicas.close()
    broker.directories.close()


def later(broker: Broker) -> None:
    broker.now += 1_000
    broker.replicas.retry()


def append(broker: Broker) -> int:
    led = broker.replicas.hosted[ORDERS].led
    assert led is not None
    return led.append(batch(), required_acks=1).first_offset


FLUSHING = ConfigRecord(resource_type=2, resource_name="orders", name="flush.messages", value="1")


def test_a_partition_that_a_full_disk_has_torn_goes_on_once_there_is_room(small: Broker, disk: FullAtSyncs) -> None:
    small.take(registered(ME), *made(ME, ME), FLUSHING)
    assert append(small) == 0
    disk.is_full = True
    with pytest.raises(OSError, match="No space left"):
        append(small)
    with pytest.raises(LogPoisonedError):
        append(small)
    assert not small.directories.offline
    for _ in range(2):
        later(small)
        assert small.replicas.hosted.offline == {ORDERS}
    disk.is_full = False
    later(small)
    assert not small.replicas.hosted.offline
    assert append(small) == 2, "what was written and could not be synced is there after all"
    assert [each.value for each in small.replicas.hosted[ORDERS].log.records()] == [b"paid"] * 3


def test_it_is_tried_again_once_a_second(small: Broker, disk: FullAtSyncs) -> None:
    small.take(registered(ME), *made(ME, ME), FLUSHING)
    small.replicas.retry()
    disk.is_full = True
    with pytest.raises(OSError, match="No space left"):
        append(small)
    disk.is_full = False
    small.now += 999
    small.replicas.retry()
    with pytest.raises(LogPoisonedError):
        append(small)
    small.now += 1
    small.replicas.retry()
    append(small)


def test_a_topic_that_was_made_on_a_full_disk_is_served_once_there_is_room(small: Broker, disk: FullAtSyncs) -> None:
    small.take(registered(ME))
    disk.is_full = True
    small.take(*made(ME, ME))
    assert small.replicas.hosted.offline == {ORDERS}
    later(small)
    assert small.replicas.hosted.offline == {ORDERS}
    disk.is_full = False
    later(small)
    assert append(small) == 0


def lose_tail(broker: Broker, disk: FullAtSyncs, append: Callable[[], object]) -> None:
    """Append what a full disk tears, and is not there any more when the log is recovered."""
    (segment,) = broker.root.glob("orders-0/*.log")
    size = segment.stat().st_size
    disk.is_full = True
    with pytest.raises(OSError, match="No space left"):
        append()
    assert broker.replicas.hosted[ORDERS].log.log_end_offset == 2
    disk.is_full = False
    os.truncate(segment, size)
    for _ in range(2):
        later(broker)
        assert broker.replicas.hosted.offline == {ORDERS}


def test_a_leader_that_has_lost_what_followers_may_hold_waits_for_an_unclean_election(
    small: Broker, disk: FullAtSyncs
) -> None:
    small.take(registered(ME), registered(OTHER), *made(ME, ME, OTHER), FLUSHING)
    assert append(small) == 0
    lose_tail(small, disk, lambda: append(small))
    for isr in ((ME,), (ME, OTHER)):
        small.take(changed(isr=isr))
        assert small.replicas.hosted.offline == {ORDERS}, "no other epoch"
    small.take(changed(leader=ME))
    assert small.replicas.hosted.offline == {ORDERS}, "elected as one that has all that was acknowledged"
    assert small.replicas.has_lost_tail
    small.take(changed(leader=ME, isr=(ME,), leader_recovery_state=LeaderRecoveryState.RECOVERING))
    assert append(small) == 1
    assert not small.replicas.has_lost_tail


@pytest.fixture
def short(small: Broker, disk: FullAtSyncs) -> Broker:
    """A follower in sync that has lost what the leader counts on."""
    small.take(registered(ME), registered(OTHER, 9_093), *made(OTHER, OTHER, ME), FLUSHING)
    log = small.replicas.hosted[ORDERS].log
    assert isinstance(log, Log)
    log.append([b"one"], leader_epoch=0)
    lose_tail(small, disk, lambda: log.append([b"two"], leader_epoch=0))
    return small


def test_a_follower_that_has_lost_what_the_leader_counts_on_waits_until_it_is_out_of_the_isr(short: Broker) -> None:
    short.take(changed(leader=OTHER))
    assert short.replicas.hosted.offline == {ORDERS}, "another leader may count on it too"
    assert not short.fetchers.leaders
    assert short.replicas.has_lost_tail
    short.take(changed(isr=(OTHER,)))
    assert not short.replicas.hosted.offline
    assert not short.replicas.has_lost_tail
    short.take(changed(isr=(OTHER, ME)))
    assert short.fetchers.leaders[ORDERS][1] == 1


def test_it_waits_as_long_as_the_controller_takes_it_for_eligible_as_leader(short: Broker) -> None:
    """KIP-966: who left the ISR when too few were in it is elected cleanly, at any time."""
    short.take(changed(isr=(OTHER,), eligible_leader_replicas=(ME,)))
    assert short.replicas.hosted.offline == {ORDERS}
    assert short.replicas.has_lost_tail
    short.take(changed(eligible_leader_replicas=()))
    assert not short.replicas.hosted.offline
    assert not short.replicas.has_lost_tail


@pytest.mark.parametrize("elr", [(), (OTHER,)])
def test_it_leads_only_if_it_is_elected_uncleanly(short: Broker, elr: tuple[int, ...]) -> None:
    short.take(changed(leader=ME, isr=(ME,), eligible_leader_replicas=elr))
    assert short.replicas.hosted.offline == {ORDERS}, "elected for what it has lost"
    assert short.replicas.has_lost_tail
    short.take(changed(leader=ME, leader_recovery_state=LeaderRecoveryState.RECOVERING))
    assert append(short) == 1
    assert not short.replicas.has_lost_tail


def test_of_a_replica_that_is_deleted_nothing_is_missing(short: Broker) -> None:
    short.take(changed(replicas=(OTHER,), isr=(OTHER,)))
    assert not short.replicas.has_lost_tail


def test_what_is_damaged_is_not_tried_again(small: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fail(*_: object) -> None:
        calls.append(1)
        raise CorruptMetadataError("the topic id is zero")

    monkeypatch.setattr(Log, "assign_epoch", fail)
    small.take(registered(ME), *made(ME, ME))
    later(small)
    assert (calls, small.replicas.hosted.offline) == ([1], {ORDERS})


def test_who_was_elected_uncleanly_before_it_lost_its_tail_does_not_lead_on_by_that(
    small: Broker, disk: FullAtSyncs
) -> None:
    small.take(registered(ME), registered(OTHER), *made(ME, ME, OTHER), FLUSHING)
    small.take(changed(leader=ME, isr=(ME,), leader_recovery_state=LeaderRecoveryState.RECOVERING))
    assert append(small) == 0
    lose_tail(small, disk, lambda: append(small))
    small.take(changed(leader=ME, isr=(ME,)))
    assert small.replicas.hosted.offline == {ORDERS}, "elected cleanly, and still in recovery"
    small.take(changed(leader=OTHER, isr=(OTHER,), leader_recovery_state=LeaderRecoveryState.RECOVERED))
    assert not small.replicas.hosted.offline
