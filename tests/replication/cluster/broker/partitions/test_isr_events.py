"""What a leader tells of its ISR: each change once, from whichever side it hears of it first, and why."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.partitions.small_leader import LEADER_EPOCH, PARTITION_EPOCH, SmallLeader, granted


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[SmallLeader]:
    with SmallLeader(tmp_path, lag_ms=3_000) as leader:
        leader.append(5)
        leader.fetch(2, 5)
        leader.fetch(3, 2)
        yield leader


def lag(leader: SmallLeader) -> None:
    leader.now += 3_001
    leader.led.check_lag()


def test_a_follower_that_has_fallen_behind(leader: SmallLeader) -> None:
    lag(leader)
    assert leader.told == []  # the controller has not answered yet
    leader.answer()
    (event,) = leader.told
    assert (event.before, event.after, event.is_asked) == ((1, 2, 3), (1, 2), True)
    assert (event.leader_epoch, event.partition_epoch) == (LEADER_EPOCH, PARTITION_EPOCH + 1)
    assert (event.log_end_offset, event.high_watermark) == (5, 2)
    assert event.why == "not caught up for 3000 ms: broker 3 at 2 of 5"


def test_a_follower_that_has_never_fetched_has_an_offset_that_nobody_knows(tmp_path: Path) -> None:
    with SmallLeader(tmp_path, replicas=(1, 2), lag_ms=3_000) as leader:
        leader.append(5)
        lag(leader)
        leader.answer()
        assert leader.told[0].why == "not caught up for 3000 ms: broker 2 at an unknown offset of 5"


def test_a_follower_that_has_caught_up_again(leader: SmallLeader) -> None:
    lag(leader)
    leader.answer()
    leader.fetch(3, 5)
    leader.answer()
    assert [(each.before, each.after, each.is_asked) for each in leader.told[1:]] == [((1, 2), (1, 2, 3), True)]
    assert leader.told[1].why == "broker 3 has come to offset 5"


def test_metadata_that_comes_before_the_answer_tells_of_it_and_the_answer_of_nothing_more(leader: SmallLeader) -> None:
    lag(leader)
    leader.led.update(granted(leader.state, leader.asked[-1]))
    leader.answer()
    assert [(each.after, each.is_asked) for each in leader.told] == [((1, 2), True)]
    assert leader.told[0].why.startswith("not caught up")


def test_what_the_controller_does_by_itself(leader: SmallLeader) -> None:
    leader.led.update(replace(leader.state, isr=(1, 3), partition_epoch=PARTITION_EPOCH + 1))
    assert [(each.after, each.is_asked, each.why) for each in leader.told] == [
        ((1, 3), False, "the controller has changed it")
    ]


def test_another_order_and_a_refusal_are_no_changes(leader: SmallLeader) -> None:
    leader.led.update(replace(leader.state, isr=(3, 2, 1), partition_epoch=PARTITION_EPOCH + 1))
    lag(leader)
    leader.answer(ErrorCode.INELIGIBLE_REPLICA)
    assert leader.told == []
