"""What a leader knows of the other replicas."""

from dataclasses import replace

import pytest

from replication.cluster.broker.partitions.follower_progress import UNKNOWN_OFFSET
from replication.cluster.broker.partitions.followers import Followers
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.messages.alter_partition import ANY_BROKER_EPOCH, InSyncReplica
from tests.replication.cluster.broker.partitions.small_leader import LEADER, broker_epoch, registered

NOW, LAG_MS, END = 1_000_000, 30_000, 10
TOO_LATE = NOW + LAG_MS + 1
STATE = PartitionRegistration(replicas=(1, 2, 3), isr=(1, 2), leader=LEADER, leader_epoch=5, partition_epoch=10)


@pytest.fixture
def brokers() -> dict[int, BrokerRegistration]:
    return {each: registered(each) for each in STATE.replicas}


@pytest.fixture
def followers(brokers: dict[int, BrokerRegistration]) -> Followers:
    return Followers(LEADER, brokers.get).unheard_of(STATE, NOW)


def fetched(followers: Followers, broker_id: int, offset: int, start_offset: int = 0) -> None:
    followers[broker_id].note(offset, start_offset, broker_epoch(broker_id), END, NOW)


def test_the_leader_is_none_of_them(followers: Followers) -> None:
    assert tuple(followers) == (2, 3)


def test_at_first_only_members_of_the_isr_count_as_caught_up(followers: Followers) -> None:
    assert followers.in_sync((1, 2, 3), END, NOW, LAG_MS) == (1, 2)


def test_who_has_not_caught_up_for_too_long_is_in_sync_no_more_but_the_leader_is(followers: Followers) -> None:
    assert followers.in_sync((1, 2), END, TOO_LATE, LAG_MS) == (1,)


def test_who_is_no_replica_any_more_is_not_in_sync(followers: Followers) -> None:
    assert followers.among((1, 3)).in_sync((1, 2), END, NOW, LAG_MS) == (1,)


def test_other_replicas_are_other_followers_and_what_is_known_of_the_rest_stays(followers: Followers) -> None:
    fetched(followers, 2, 7)
    others = followers.among((1, 2, 4))
    assert {each: progress.log_end_offset for each, progress in others.items()} == {2: 7, 4: UNKNOWN_OFFSET}
    assert tuple(followers) == (2, 3)


def test_after_a_missed_epoch_nothing_is_known(followers: Followers) -> None:
    fetched(followers, 2, 7)
    assert followers.unheard_of(STATE, NOW)[2].log_end_offset == UNKNOWN_OFFSET


def test_in_another_epoch_those_in_sync_have_their_time_again(followers: Followers) -> None:
    followers.follow_on(TOO_LATE, (1, 3))
    assert followers.in_sync((1, 2, 3), END, TOO_LATE, LAG_MS) == (1, 3)


def test_the_high_watermark_waits_for_the_isr_and_for_who_has_caught_up(followers: Followers) -> None:
    fetched(followers, 2, 7)
    assert followers.awaited_end_offsets((1, 2), END, NOW, LAG_MS) == [7]
    fetched(followers, 3, END)
    assert followers.awaited_end_offsets((1, 2), END, NOW, LAG_MS) == [7, END]


def test_it_does_not_wait_for_who_may_not_join(followers: Followers, brokers: dict[int, BrokerRegistration]) -> None:
    fetched(followers, 3, END)
    brokers[3] = replace(brokers[3], fenced=True)
    assert followers.awaited_end_offsets((1,), END, NOW, LAG_MS) == []


def test_only_brokers_that_live_say_where_logs_begin(
    followers: Followers, brokers: dict[int, BrokerRegistration]
) -> None:
    fetched(followers, 2, 7, start_offset=4)
    assert followers.log_start_offsets() == [4, UNKNOWN_OFFSET]
    brokers[3] = replace(brokers[3], fenced=True)
    assert followers.log_start_offsets() == [4]
    del brokers[2]
    assert followers.log_start_offsets() == []


def test_an_isr_names_the_epochs_of_the_leader_and_of_who_has_fetched(
    followers: Followers, brokers: dict[int, BrokerRegistration]
) -> None:
    fetched(followers, 2, 7)
    brokers[2] = registered(2, broker_epoch(2) + 1)  # another life than that in which it fetched
    assert followers.registered((1, 2, 3)) == (
        InSyncReplica(1, broker_epoch(1)),
        InSyncReplica(2, broker_epoch(2)),
        InSyncReplica(3, ANY_BROKER_EPOCH),
    )
    del brokers[LEADER]
    assert followers.registered((LEADER,)) == (InSyncReplica(LEADER, ANY_BROKER_EPOCH),)
