"""The truncation decision: each rule, the counter-examples that made each generation, and real clusters."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import (
    UNDEFINED_END_OFFSET,
    AskEndOffset,
    EndOffset,
    EpochHistory,
    TruncateTo,
    Truncation,
    TruncationOrderError,
    TruncationProtocol,
    UnknownEpochError,
    diverging_epoch,
    truncate_against,
    truncation_for,
)
from tests.data import replicas as golden
from tests.epoch.histories import histories
from tests.epoch.replicas import Replica, elected, truncate_while_fetching

HIGH_WATERMARK, KIP_101, KIP_320 = TruncationProtocol

FOLLOWER = EpochHistory([(2, 0), (4, 30), (7, 50)])
END, WATERMARK = 80, 25


def test_the_protocols_by_name() -> None:
    assert [str(protocol) for protocol in TruncationProtocol] == ["high-watermark", "kip-101", "kip-320"]
    assert TruncationProtocol("kip-320") is KIP_320


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        # The leader cannot tell.
        (UNDEFINED_END_OFFSET, TruncateTo(WATERMARK, complete=True)),
        # A leader of KIP-101's time tells no epoch.
        (EndOffset(-1, 60), TruncateTo(60, complete=True)),
        (EndOffset(-1, 90), TruncateTo(END, complete=True)),
        # Both know the epoch: where it ends first.
        (EndOffset(7, 70), TruncateTo(70, complete=True)),
        (EndOffset(7, 90), TruncateTo(END, complete=True)),
        (EndOffset(4, 40), TruncateTo(40, complete=True)),
        (EndOffset(4, 60), TruncateTo(50, complete=True)),
        (EndOffset(2, 0), TruncateTo(0, complete=True)),
        # The follower does not know it: its own epoch below, and another question.
        (EndOffset(5, 45), TruncateTo(50, complete=False)),
        (EndOffset(3, 20), TruncateTo(30, complete=False)),
        # It lies below all that the follower knows: where that begins, or where the leader's ends.
        (EndOffset(1, 10), TruncateTo(0, complete=True)),
        # It lies above all that the follower knows, which no honest leader answers.
        (EndOffset(9, 60), TruncateTo(60, complete=True)),
    ],
)
def test_what_an_answer_leads_to(answer: EndOffset, decision: TruncateTo) -> None:
    assert truncation_for(answer, FOLLOWER, END, WATERMARK) == decision


def test_a_follower_without_epochs_goes_back_to_its_high_watermark() -> None:
    for protocol in TruncationProtocol:
        assert Truncation(protocol, EpochHistory(), 80, 25).next() == TruncateTo(25, complete=True)
    assert Truncation(KIP_320, EpochHistory(), 80, 95).next() == TruncateTo(80, complete=True)


def test_before_kip_101_nobody_asks() -> None:
    assert Truncation(HIGH_WATERMARK, FOLLOWER, END, WATERMARK).next() == TruncateTo(25, complete=True)


def test_kip_101_asks_once_and_hears_no_epoch() -> None:
    truncation = Truncation(KIP_101, FOLLOWER, END, WATERMARK)
    assert truncation.next() == truncation.next() == AskEndOffset(7)
    truncation.answer(EndOffset(5, 45))
    assert truncation.next() == TruncateTo(45, complete=True)


def test_kip_320_asks_until_both_know_the_epoch() -> None:
    truncation = Truncation(KIP_320, FOLLOWER, END, WATERMARK)
    assert truncation.next() == AskEndOffset(7)
    truncation.answer(EndOffset(5, 45))
    assert truncation.next() == TruncateTo(50, complete=False)
    truncation.truncated(50)
    assert truncation.next() == AskEndOffset(4)
    truncation.answer(EndOffset(4, 40))
    assert truncation.next() == TruncateTo(40, complete=True)


def test_the_log_may_end_lower_than_was_asked_for() -> None:
    truncation = Truncation(KIP_320, FOLLOWER, END, WATERMARK)
    truncation.answer(EndOffset(5, 45))
    truncation.truncated(28)
    assert truncation.next() == AskEndOffset(2)
    truncation.answer(EndOffset(2, 35))
    assert truncation.next() == TruncateTo(28, complete=True)


def test_what_was_not_asked_for_is_refused() -> None:
    truncation = Truncation(KIP_320, FOLLOWER, END, WATERMARK)
    with pytest.raises(TruncationOrderError, match=r"but the next step is AskEndOffset\(epoch=7\)"):
        truncation.truncated(50)
    truncation.answer(EndOffset(5, 45))
    with pytest.raises(TruncationOrderError, match=r"but the next step is TruncateTo\(offset=50, complete=False\)"):
        truncation.answer(EndOffset(5, 45))
    with pytest.raises(TruncationOrderError, match="the log ends at 51"):
        truncation.truncated(51)
    truncation.truncated(50)
    truncation.answer(EndOffset(4, 40))
    with pytest.raises(TruncationOrderError, match="complete=True"):
        truncation.truncated(40)


ANSWERS = st.builds(EndOffset, st.integers(-3, 65), st.integers(-3, 1_100))


@given(histories(), st.integers(0, 1_100), st.integers(0, 1_100), st.data())
def test_it_ends_whatever_the_leader_answers(
    history: EpochHistory, log_end: int, high_watermark: int, data: st.DataObject
) -> None:
    truncation = Truncation(KIP_320, history, log_end, high_watermark)
    questions: list[int] = []
    while isinstance(step := truncation.next(), AskEndOffset) or not step.complete:
        if isinstance(step, AskEndOffset):
            questions.append(step.epoch)
            truncation.answer(data.draw(ANSWERS))
        else:
            assert 0 <= step.offset <= truncation.log_end_offset
            truncation.truncated(step.offset - data.draw(st.sampled_from([0, 0, min(3, step.offset)])))
    assert 0 <= step.offset <= truncation.log_end_offset
    assert len(questions) <= len(history)
    assert questions == sorted(set(questions), reverse=True)


# --- a divergence that a Fetch finds


LEADER = EpochHistory([(2, 0), (5, 30), (8, 60)])


@pytest.mark.parametrize(
    ("fetch_offset", "epoch", "diverging"),
    [
        (70, 8, None),
        (100, 8, None),
        (101, 8, EndOffset(8, 100)),
        (60, 5, None),
        (61, 5, EndOffset(5, 60)),
        (40, 6, EndOffset(5, 60)),
        (5, 1, EndOffset(1, 0)),
        (0, 1, None),
    ],
)
def test_the_leader_tells_where_a_fetch_leaves_its_log(
    fetch_offset: int, epoch: int, diverging: EndOffset | None
) -> None:
    assert diverging_epoch(LEADER, 100, fetch_offset, epoch) == diverging


@pytest.mark.parametrize(("leader", "epoch"), [(LEADER, 9), (EpochHistory(), 2), (LEADER, -1), (LEADER, -2)])
def test_a_leader_that_does_not_know_the_epoch_says_so(leader: EpochHistory, epoch: int) -> None:
    with pytest.raises(UnknownEpochError, match=f"epoch {epoch} is unknown") as unknown:
        diverging_epoch(leader, 100, 50, epoch)
    assert unknown.value.epoch == epoch


# --- the counter-examples that made each generation


def outcomes(leader: Replica, follower: Replica) -> dict[TruncationProtocol, int]:
    """Where the follower ends up by each protocol."""
    history = elected(leader)
    return {
        protocol: truncate_against(history, leader.end, follower.truncation(protocol)).truncate_to
        for protocol in TruncationProtocol
    }


def test_kip_101_scenario_1_the_high_watermark_loses_a_committed_record() -> None:
    # Record 1 is on both and committed, but the follower restarts before it has heard of that.
    leader = Replica(high_watermark=2).append(0, 0)
    follower = Replica(high_watermark=1).append(0, 0)
    assert outcomes(leader, follower) == {HIGH_WATERMARK: 1, KIP_101: 2, KIP_320: 2}


def test_kip_101_scenario_2_the_high_watermark_lets_logs_diverge() -> None:
    # Both restart; the one that lacks the committed record 1 leads first, and writes another one in its place.
    leader = Replica(high_watermark=1).append(0, 1)
    follower = Replica(high_watermark=2).append(0, 0)
    assert outcomes(leader, follower) == {HIGH_WATERMARK: 2, KIP_101: 1, KIP_320: 1}
    assert leader.agrees_until(follower) == 1


def test_kip_279_one_round_lets_logs_diverge_after_fast_elections() -> None:
    # Each led once without the other: the leader does not know the follower's epoch, and ends the one below later.
    leader = Replica().append(0, 0, 1, 1, 1)
    follower = Replica().append(0, 0, 2, 2)
    assert outcomes(leader, follower) == {HIGH_WATERMARK: 0, KIP_101: 4, KIP_320: 2}
    assert leader.agrees_until(follower) == 2


def test_kip_320_needs_a_round_for_each_epoch_led_apart() -> None:
    leader = Replica().append(0, 1, 3, 5, 7, 9)
    follower = Replica().append(0, 2, 4, 6, 8)
    outcome = truncate_against(elected(leader), leader.end, follower.truncation(KIP_320))
    assert [asked for asked, _ in outcome.rounds] == [8, 6, 4, 2, 0][: len(outcome.rounds)]
    assert outcome.truncate_to == leader.agrees_until(follower) == 1


# --- real clusters


def golden_pairs() -> Iterator[Any]:
    for label in golden.LABELS:
        for partition, compared in golden.cross(label)["partitions"].items():
            for pair, expected in compared["pairs"].items():
                yield pytest.param(expected, id=f"{label} {partition} {pair}")


@pytest.mark.parametrize("expected", list(golden_pairs()))
def test_real_replicas_are_truncated_where_kafka_did(expected: dict[str, Any]) -> None:
    leader = EpochHistory(map(tuple, expected["leader_epochs"]))
    follower = Replica(
        log=[-1] * expected["follower_leo"],
        history=EpochHistory(map(tuple, expected["follower_epochs_after_load"])),
        high_watermark=expected["truncation_offset"],
    )
    outcome = truncate_against(leader, expected["leader_leo"], follower.truncation(KIP_320))
    asked = expected["offset_for_leader_epoch"]
    assert outcome.truncate_to == asked["truncate_to"] == expected["truncation_offset"]
    assert [(question, *answer) for question, answer in outcome.rounds] == [
        (turn["requested_epoch"], turn["answer_epoch"], turn["answer_end_offset"]) for turn in asked["rounds"]
    ]
    fetched = expected["truncation_on_fetch"]
    told = [(turn["answer_epoch"], turn["answer_end_offset"]) for turn in fetched["rounds"] if turn["diverging"]]
    assert truncate_while_fetching(leader, expected["leader_leo"], follower) == (told, fetched["truncate_to"])
