"""What a leader decides of its replicas: high watermark, ISR, who may follow, which acks are given."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from logstore import Log
from replication.cluster.broker.errors import NotEnoughReplicasError, NotLeaderError
from replication.cluster.broker.partitions.follower_progress import UNKNOWN_OFFSET
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.leader_settings import LeaderSettings
from replication.cluster.broker.partitions.led_partition import ALL_IN_SYNC
from replication.records.metadata.partition import LeaderRecoveryState
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import ANY_BROKER_EPOCH
from tests.replication.cluster.broker.partitions.small_leader import (
    LEADER_EPOCH,
    SmallLeader,
    broker_epoch,
    granted,
    registered,
)

Lead = Callable[..., SmallLeader]


@pytest.fixture
def lead(tmp_path: Path) -> Iterator[Lead]:
    leaders: list[SmallLeader] = []

    def make(**settings: object) -> SmallLeader:
        leaders.append(SmallLeader(tmp_path, **settings))  # type: ignore[arg-type]
        return leaders[-1]

    yield make
    for leader in leaders:
        leader.log.close()


class TestBecomingLeader:
    def test_its_epoch_starts_where_the_log_ends_before_anything_is_appended(self, lead: Lead) -> None:
        leader = lead(records=7)
        assert leader.log.epochs.entries[-1] == (LEADER_EPOCH, 7)
        leader.append(3)
        assert leader.log.epochs.entries[-1] == (LEADER_EPOCH, 7)
        assert leader.led.epoch_start_offset == 7

    def test_it_keeps_the_high_watermark_and_knows_nothing_of_the_followers(self, lead: Lead) -> None:
        leader = lead(records=7, high_watermark=4)
        assert leader.high_watermark == 4
        follower = leader.led.progress_of(2)
        assert follower is not None
        assert follower.log_end_offset == UNKNOWN_OFFSET

    def test_alone_in_sync_all_that_it_has_is_committed(self, lead: Lead) -> None:
        assert lead(isr=(1,), records=7).high_watermark == 7

    def test_in_a_later_epoch_of_the_same_leader_progress_is_known(self, lead: Lead) -> None:
        leader = lead()
        leader.append(4)
        leader.fetch(2, 4)
        leader.fetch(3, 2)
        next_state = replace(leader.state, leader_epoch=LEADER_EPOCH + 1, partition_epoch=11)
        assert leader.led.update(next_state)
        assert leader.led.leader_epoch == LEADER_EPOCH + 1
        assert leader.log.epochs.entries[-1] == (LEADER_EPOCH + 1, 4)
        assert leader.high_watermark == 2
        leader.fetch(3, 4)
        assert leader.high_watermark == 4

    def test_in_a_later_epoch_its_followers_have_the_whole_time_to_catch_up(self, lead: Lead) -> None:
        leader = lead()
        leader.append(4)
        leader.now += 60_000
        leader.led.update(replace(leader.state, leader_epoch=LEADER_EPOCH + 1, partition_epoch=11))
        leader.led.check_lag()
        assert leader.asked == []
        leader.now += 30_001
        leader.led.check_lag()
        assert leader.asked_isrs == [{1}]

    def test_in_a_later_epoch_it_does_not_wait_for_who_had_caught_up_and_is_not_in_sync(self, lead: Lead) -> None:
        leader = lead(isr=(1, 2))
        leader.append(5)
        leader.fetch(3, 5)
        leader.led.update(replace(leader.state, leader_epoch=LEADER_EPOCH + 1, partition_epoch=11))
        leader.append(1)
        leader.fetch(2, 6)
        assert leader.high_watermark == 6


class TestMetadata:
    def test_in_the_same_leader_epoch_nothing_of_the_progress_is_lost(self, lead: Lead) -> None:
        leader = lead(records=2)
        leader.append(3)
        leader.fetch(2, 5)
        leader.fetch(3, 4)
        leader.now += 20_000
        assert leader.led.update(replace(leader.state, partition_epoch=11))
        assert leader.led.epoch_start_offset == 2
        leader.now += 20_000
        leader.led.check_lag()
        assert leader.asked_isrs == [{1, 2}]

    def test_an_isr_without_who_lags_moves_the_high_watermark(self, lead: Lead) -> None:
        leader = lead()
        leader.append(3)
        leader.fetch(2, 3)
        leader.led.update(replace(leader.state, isr=(1, 2), partition_epoch=11))
        leader.now += 30_001
        leader.led.update(replace(leader.state, isr=(1, 2), partition_epoch=12))
        assert leader.high_watermark == 3

    def test_a_new_replica_is_waited_for_once_it_is_in_the_isr(self, lead: Lead) -> None:
        leader = lead(replicas=(1, 2))
        leader.led.update(replace(leader.state, replicas=(1, 2, 3), isr=(1, 2, 3), partition_epoch=11))
        leader.append(3)
        leader.fetch(2, 3)
        assert leader.high_watermark == 0
        leader.brokers[3] = registered(3)
        assert leader.fetch(3, 3) is ErrorCode.NONE
        assert leader.high_watermark == 3

    def test_what_an_answer_has_said_before_overrules_no_change(self, lead: Lead) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        change = leader.led.wanted
        assert change is not None
        assert leader.led.update(leader.state)
        assert leader.led.wanted == change
        leader.append(1)
        assert leader.high_watermark == 0
        leader.answer()
        assert leader.led.isr == (1, 2)

    def test_in_the_next_leader_epoch_followers_count_as_far_as_they_had_come(self, lead: Lead) -> None:
        leader = lead(replicas=(1, 2))
        leader.append(3)
        leader.fetch(2, 2)
        leader.led.update(replace(leader.state, leader_epoch=LEADER_EPOCH + 1, partition_epoch=11))
        progress = leader.led.progress_of(2)
        assert progress is not None
        assert progress.log_end_offset == 2

    def test_after_an_epoch_that_was_missed_nobody_counts_until_it_fetches(self, lead: Lead) -> None:
        leader = lead(replicas=(1, 2, 3))
        leader.append(3)
        leader.fetch(2, 3)
        leader.led.update(replace(leader.state, isr=(1, 2), leader_epoch=LEADER_EPOCH + 2, partition_epoch=12))
        assert leader.high_watermark == 0
        leader.fetch(2, 1, current_leader_epoch=LEADER_EPOCH + 2)
        assert leader.high_watermark == 1
        leader.led.check_lag()
        assert not leader.asked

    def test_older_metadata_counts_for_nothing(self, lead: Lead) -> None:
        leader = lead()
        assert not leader.led.update(replace(leader.state, isr=(1,), partition_epoch=9))
        assert leader.led.isr == (1, 2, 3)

    def test_it_wakes_who_waits_as_resigning_does(self, lead: Lead) -> None:
        leader = lead()
        leader.led.update(replace(leader.state, partition_epoch=11))
        assert leader.wakes == 1
        leader.led.resign()
        assert leader.wakes == 2


class TestHighWatermark:
    def test_alone_it_follows_the_appends(self, lead: Lead) -> None:
        leader = lead(replicas=(1,))
        assert leader.append(3).last_offset == 2
        assert leader.high_watermark == 3

    def test_it_is_what_all_in_sync_have(self, lead: Lead) -> None:
        leader = lead()
        leader.append(5)
        assert leader.fetch(2, 5) is ErrorCode.NONE
        assert leader.high_watermark == 0
        leader.fetch(3, 3)
        assert leader.high_watermark == 3
        leader.fetch(3, 5)
        assert leader.high_watermark == 5

    def test_it_never_goes_back(self, lead: Lead) -> None:
        leader = lead(replicas=(1, 2))
        leader.append(5)
        leader.fetch(2, 5)
        leader.fetch(2, 1)
        assert leader.high_watermark == 5

    def test_who_is_not_in_sync_neither_moves_nor_holds_it(self, lead: Lead) -> None:
        leader = lead(isr=(1, 2))
        leader.append(5)
        leader.fetch(3, 5, epoch=1_000)
        assert leader.high_watermark == 0
        leader.fetch(2, 5)
        assert leader.high_watermark == 5
        leader.append(5)
        leader.fetch(2, 10)
        assert leader.high_watermark == 10

    def test_it_waits_for_who_is_about_to_join(self, lead: Lead) -> None:
        leader = lead(isr=(1, 2))
        leader.append(5)
        leader.fetch(2, 5)
        leader.fetch(3, 5)
        assert leader.led.maximal_isr == {1, 2, 3}
        assert leader.led.isr == (1, 2)
        leader.append(1)
        leader.fetch(2, 6)
        assert leader.high_watermark == 5
        leader.answer(ErrorCode.OPERATION_NOT_ATTEMPTED)
        leader.brokers[3] = replace(leader.brokers[3], fenced=True)
        leader.append(1)
        leader.fetch(2, 7)
        assert leader.high_watermark == 7

    def test_it_waits_for_who_has_caught_up_and_may_join(self, lead: Lead) -> None:
        leader = lead(isr=(1, 2))
        leader.append(5)
        leader.fetch(3, 5)
        leader.answer(ErrorCode.INELIGIBLE_REPLICA)
        leader.append(1)
        leader.fetch(2, 6)
        assert leader.high_watermark == 5
        leader.now += 30_001
        leader.append(1)
        leader.fetch(2, 7)
        assert leader.high_watermark == 7

    def test_it_goes_on_with_who_is_leaving_until_that_is_granted(self, lead: Lead) -> None:
        leader = lead()
        leader.append(5)
        leader.fetch(2, 5)
        leader.now += 30_001
        leader.fetch(2, 5)
        leader.led.check_lag()
        assert leader.asked_isrs == [{1, 2}]
        assert leader.high_watermark == 0
        leader.answer()
        assert leader.high_watermark == 5

    def test_it_stands_still_while_too_few_are_in_sync(self, lead: Lead) -> None:
        leader = lead(isr=(1,), min_isr=2)
        leader.append(5)
        assert leader.high_watermark == 0
        leader.fetch(2, 5)
        assert leader.high_watermark == 0
        leader.answer()
        assert leader.high_watermark == 5

    def test_no_more_are_demanded_than_there_are_replicas(self, lead: Lead) -> None:
        leader = lead(replicas=(1,), min_isr=2)
        leader.append(1, acks=ALL_IN_SYNC)
        assert leader.high_watermark == 1
        assert leader.led.replicated(1) is ErrorCode.NONE

    def test_a_changed_setting_counts_from_the_next_step_on(self, lead: Lead) -> None:
        leader = lead(isr=(1,), min_isr=2)
        leader.append(5)
        leader.led.settings = LeaderSettings(min_insync_replicas=1)
        leader.append(1)
        assert leader.high_watermark == 6


class TestWhoMayFollow:
    @pytest.mark.parametrize(
        ("epoch", "error"),
        [(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER), (LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)],
    )
    def test_a_broker_that_is_no_replica_is_refused(self, lead: Lead, epoch: int, error: ErrorCode) -> None:
        leader = lead()
        assert leader.fetch(9, 0, current_leader_epoch=epoch) is error
        assert leader.fetch(1, 0, current_leader_epoch=epoch) is error

    def test_a_fetch_from_before_its_broker_registered_anew_is_refused(self, lead: Lead) -> None:
        leader = lead()
        leader.append(5)
        assert leader.fetch(2, 5, epoch=broker_epoch(2) - 1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        follower = leader.led.progress_of(2)
        assert follower is not None
        assert follower.log_end_offset == UNKNOWN_OFFSET

    def test_a_later_broker_epoch_than_the_metadata_has_yet_and_none_at_all_are_taken(self, lead: Lead) -> None:
        leader = lead(isr=(1,))
        assert leader.fetch(2, 0, epoch=broker_epoch(2) + 1) is ErrorCode.NONE
        assert leader.asked == []
        assert leader.fetch(2, 0, epoch=ANY_BROKER_EPOCH) is ErrorCode.NONE
        assert leader.asked_isrs == [{1, 2}]

    def test_a_replica_that_was_removed_is_none(self, lead: Lead) -> None:
        leader = lead()
        leader.led.update(replace(leader.state, replicas=(1, 2), isr=(1, 2), partition_epoch=11))
        assert leader.fetch(3, 0) is ErrorCode.UNKNOWN_LEADER_EPOCH


class TestJoiningTheIsr:
    def test_who_has_all_that_is_committed_joins(self, lead: Lead) -> None:
        leader = lead(isr=(1,))
        leader.append(5)
        leader.fetch(2, 4)
        assert leader.asked == []
        leader.fetch(2, 5)
        [change] = leader.asked
        assert change.isr == ((1, broker_epoch(1)), (2, broker_epoch(2)))
        assert (change.leader_epoch, change.partition_epoch) == (LEADER_EPOCH, 10)
        leader.answer()
        assert leader.led.isr == (1, 2)
        assert leader.led.partition_epoch == 11

    def test_who_has_not_reached_the_start_of_the_epoch_does_not(self, lead: Lead) -> None:
        leader = lead(isr=(1, 3), records=7, high_watermark=4)
        leader.fetch(2, 6)
        assert leader.asked == []
        leader.fetch(2, 7)
        [change] = leader.asked
        assert change.isr == ((1, broker_epoch(1)), (3, ANY_BROKER_EPOCH), (2, broker_epoch(2)))

    @pytest.mark.parametrize("unfit", [{"fenced": True}, {"in_controlled_shutdown": True}, {"epoch": 100_000}])
    def test_who_is_not_active_in_the_same_life_does_not(self, lead: Lead, unfit: dict[str, int]) -> None:
        leader = lead(isr=(1,))
        fit = leader.brokers[2]
        leader.fetch(2, 0, epoch=0)
        leader.brokers[2] = replace(fit, **unfit)
        leader.fetch(2, 0)
        assert leader.asked == []
        leader.brokers[2] = fit
        leader.fetch(2, 0)
        assert leader.asked_isrs == [{1, 2}]

    def test_one_change_is_asked_for_at_a_time(self, lead: Lead) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        leader.fetch(3, 0)
        leader.now += 60_000
        leader.led.check_lag()
        assert leader.asked_isrs == [{1, 2}]
        leader.answer()
        leader.fetch(3, 0)
        assert leader.asked_isrs == [{1, 2}, {1, 2, 3}]

    def test_the_first_change_after_an_unclean_election_says_that_it_is_over(self, lead: Lead) -> None:
        leader = lead(isr=(1,), recovery_state=LeaderRecoveryState.RECOVERING)
        assert leader.led.recovery_state == LeaderRecoveryState.RECOVERING
        leader.fetch(2, 0)
        assert leader.asked[0].leader_recovery_state == LeaderRecoveryState.RECOVERED
        leader.answer()
        assert leader.led.recovery_state == LeaderRecoveryState.RECOVERED


class TestLeavingTheIsr:
    def test_who_has_not_caught_up_for_too_long_leaves(self, lead: Lead) -> None:
        leader = lead()
        leader.append(5)
        leader.fetch(2, 5)
        leader.now += 30_000
        leader.led.check_lag()
        assert leader.asked == []
        leader.now += 1
        leader.led.check_lag()
        assert leader.asked_isrs == [{1, 2}]
        leader.answer()
        assert leader.led.isr == (1, 2)

    def test_who_has_all_stays_however_long_it_is_silent(self, lead: Lead) -> None:
        leader = lead(replicas=(1, 2))
        leader.append(5)
        leader.fetch(2, 5)
        leader.now += 1_000_000
        leader.led.check_lag()
        assert leader.asked == []

    def test_who_keeps_up_with_a_leader_that_never_rests_stays(self, lead: Lead) -> None:
        leader = lead(replicas=(1, 2))
        leader.append(5)
        for offset in range(5, 100, 5):
            leader.append(5)
            leader.fetch(2, offset)
            leader.now += 10_000
            leader.led.check_lag()
        assert leader.asked == []

    def test_who_advances_but_never_reaches_the_end_leaves(self, lead: Lead) -> None:
        leader = lead(replicas=(1, 2))
        for offset in range(1, 6):
            leader.append(5)
            leader.fetch(2, offset)
            leader.now += 10_000
            leader.led.check_lag()
        assert leader.asked_isrs == [{1}]

    def test_nobody_is_asked_to_leave_twice(self, lead: Lead) -> None:
        leader = lead(replicas=(1, 2))
        leader.append(5)
        leader.now += 40_000
        leader.led.check_lag()
        leader.led.check_lag()
        assert leader.asked_isrs == [{1}]


class TestAnswers:
    @pytest.mark.parametrize("error", [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA])
    def test_a_change_that_was_not_made_may_be_wanted_again(self, lead: Lead, error: ErrorCode) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        leader.answer(error)
        assert leader.led.maximal_isr == {1}
        assert len(leader.asked) == 1
        leader.fetch(2, 0)
        assert leader.asked_isrs == [{1, 2}, {1, 2}]

    @pytest.mark.parametrize(
        "error",
        [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.UNKNOWN_TOPIC_ID,
            ErrorCode.FENCED_LEADER_EPOCH,
            ErrorCode.INVALID_UPDATE_VERSION,
            ErrorCode.INVALID_REQUEST,
            ErrorCode.NEW_LEADER_ELECTED,
        ],
    )
    def test_where_the_controller_knows_better_it_waits_for_the_metadata(self, lead: Lead, error: ErrorCode) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        leader.answer(error)
        leader.fetch(2, 0)
        assert len(leader.asked) == 1
        assert leader.led.maximal_isr == {1, 2}
        leader.led.update(replace(leader.state, partition_epoch=12))
        assert leader.led.maximal_isr == {1}
        leader.fetch(2, 0)
        assert leader.asked[-1].partition_epoch == 12

    @pytest.mark.parametrize("error", [ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR])
    def test_after_an_error_that_may_pass_the_same_is_asked_again(self, lead: Lead, error: ErrorCode) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        leader.answer(error)
        assert leader.asked[0] == leader.asked[1]
        leader.answer()
        assert leader.led.isr == (1, 2)

    def test_a_controller_that_has_nothing_to_change_keeps_the_partition_epoch(self, lead: Lead) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        leader.led.answered(leader.asked[0], ErrorCode.NONE, replace(leader.state, isr=(1, 2)))
        assert leader.led.isr == (1, 2)
        assert leader.led.partition_epoch == 10

    def test_a_refused_change_is_not_made_whatever_else_the_answer_says(self, lead: Lead) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        change = leader.asked[0]
        leader.led.answered(change, ErrorCode.INELIGIBLE_REPLICA, granted(leader.state, change))
        assert leader.led.maximal_isr == {1}

    def test_the_metadata_overrules_a_change_and_its_late_answer_counts_for_nothing(self, lead: Lead) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        leader.led.update(replace(leader.state, isr=(1, 3), partition_epoch=12))
        leader.answer()
        assert leader.led.isr == (1, 3)
        assert leader.led.partition_epoch == 12

    def test_an_answer_counts_once(self, lead: Lead) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        leader.answer()
        leader.fetch(3, 0)
        first = leader.asked[0]
        leader.led.answered(first, ErrorCode.NONE, granted(leader.state, first))
        leader.led.answered(first, ErrorCode.INELIGIBLE_REPLICA)
        assert leader.led.maximal_isr == {1, 2, 3}
        leader.answer()
        assert leader.led.isr == (1, 2, 3)

    def test_an_answer_of_another_leader_epoch_or_of_before_counts_for_nothing(self, lead: Lead) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        change = leader.asked[0]
        for wrong in ({"leader_epoch": LEADER_EPOCH + 1}, {"partition_epoch": 9}):
            leader.led.answered(change, ErrorCode.NONE, replace(granted(leader.state, change), **wrong))
            assert leader.led.isr == (1,)
            assert leader.led.maximal_isr == {1, 2}
        leader.answer()
        assert leader.led.isr == (1, 2)


class TestAcks:
    def test_acks_all_is_refused_while_too_few_are_in_sync(self, lead: Lead) -> None:
        leader = lead(isr=(1,), min_isr=2)
        with pytest.raises(NotEnoughReplicasError, match="orders-0 only brokers 1 are in sync"):
            leader.append(1, acks=ALL_IN_SYNC)
        assert leader.log.log_end_offset == 0
        leader.append(1, acks=1)
        assert leader.log.log_end_offset == 1

    def test_what_all_in_sync_have_is_acknowledged(self, lead: Lead) -> None:
        leader = lead(replicas=(1, 2), min_isr=2)
        leader.append(3, acks=ALL_IN_SYNC)
        assert leader.led.replicated(3) is None
        leader.fetch(2, 2)
        assert leader.led.replicated(2) is ErrorCode.NONE
        assert leader.led.replicated(3) is None
        leader.fetch(2, 3)
        assert leader.led.replicated(3) is ErrorCode.NONE

    def test_what_too_few_have_is_told_as_such(self, lead: Lead) -> None:
        leader = lead(replicas=(1, 2), min_isr=2)
        leader.append(3, acks=ALL_IN_SYNC)
        leader.fetch(2, 3)
        leader.append(1)
        leader.now += 40_000
        leader.led.check_lag()
        leader.answer()
        assert leader.led.replicated(3) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        assert leader.led.replicated(4) is None

    def test_who_leads_no_more_appends_and_acknowledges_nothing(self, lead: Lead) -> None:
        leader = lead(isr=(1,))
        leader.fetch(2, 0)
        leader.led.resign()
        with pytest.raises(NotLeaderError, match="ask for the leader"):
            leader.append()
        assert leader.led.replicated(0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert leader.fetch(2, 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert not leader.led.update(replace(leader.state, partition_epoch=99))
        leader.answer()
        leader.led.check_lag()
        assert leader.led.isr == (1,)


class TestLowWatermark:
    def test_it_is_where_the_last_of_the_living_begins(self, lead: Lead) -> None:
        leader = lead()
        leader.append(9)
        assert leader.led.low_watermark == UNKNOWN_OFFSET
        leader.fetch(2, 9, log_start=4)
        leader.fetch(3, 9, log_start=6)
        assert leader.led.low_watermark == 0
        leader.log.delete_records(8)
        assert leader.led.low_watermark == 4
        leader.brokers[2] = replace(leader.brokers[2], fenced=True)
        assert leader.led.low_watermark == 6
        leader.brokers[3] = replace(leader.brokers[3], in_controlled_shutdown=True)
        assert leader.led.low_watermark == 6

    def test_alone_it_is_the_start_of_the_log(self, lead: Lead) -> None:
        assert lead(replicas=(1,)).led.low_watermark == 0

    def test_who_waits_for_it_is_woken_by_each_move_and_by_nothing_else(self, lead: Lead) -> None:
        leader = lead()
        leader.append(9)
        leader.fetch(2, 9, log_start=4)
        before = leader.wakes
        leader.fetch(2, 9, log_start=4)
        assert leader.wakes == before
        leader.fetch(2, 9, log_start=5)
        assert leader.wakes == before + 1


def test_a_copy_that_is_not_led_here_has_no_replicas_to_look_after(tmp_path: Path) -> None:
    with Log.open(tmp_path / "orders-0", replicated=True) as log:
        assert HostedPartition(log, 3, is_leader=False).led is None
