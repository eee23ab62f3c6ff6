"""Each decision of a follower by itself: what it was told, and what comes next."""

from dataclasses import replace

import pytest

from epoch import UNDEFINED_EPOCH, AskEndOffset, EndOffset, EpochHistory, TruncationProtocol
from replication.cluster.fetcher.decisions.actions import Append, StartAfresh, Truncate
from replication.cluster.fetcher.decisions.fetch_rules import MIRROR_RULES, REPLICA_RULES, FetchRules
from replication.cluster.fetcher.decisions.fetch_state import FetchState, Phase
from replication.cluster.fetcher.decisions.fetch_state_machine import (
    FetchQuestion,
    LeaderOffsets,
    OffsetsQuestion,
    Step,
    after_append,
    after_cut,
    after_epoch_answer,
    after_failed_exchange,
    after_fetch,
    after_offsets,
    ask,
    follow,
)
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.wire.error_code import ErrorCode

LOG = FollowedLogState(10, 100, 80, EpochHistory([(1, 10), (4, 50)]))
WITHOUT_EPOCHS = FollowedLogState(10, 100, 80, EpochHistory())
BOTH = pytest.mark.parametrize("rules", [REPLICA_RULES, MIRROR_RULES], ids=["replica", "mirror"])
FETCHING = FetchState(5, 100, 4, lag=7)
NOW = 3_000


def test_a_replica_fetches_at_once_and_says_which_epoch_wrote_last() -> None:
    assert follow(REPLICA_RULES, 5, LOG) == FetchState(5, 100, 4)


@pytest.mark.parametrize(
    ("rules", "log", "fetch_offset"),
    [(MIRROR_RULES, LOG, 100), (MIRROR_RULES, WITHOUT_EPOCHS, 80), (REPLICA_RULES, WITHOUT_EPOCHS, 80)],
    ids=["mirror", "mirror without epochs", "replica without epochs"],
)
def test_who_cannot_compare_in_a_fetch_truncates_first(
    rules: FetchRules, log: FollowedLogState, fetch_offset: int
) -> None:
    assert follow(rules, 5, log) == FetchState(5, fetch_offset, phase=Phase.TRUNCATING)


def test_who_follows_the_leader_already_goes_on_unless_it_was_given_up_or_fenced() -> None:
    assert follow(REPLICA_RULES, 5, LOG, FETCHING) is FETCHING
    for over in (FETCHING.failed("broken"), FETCHING.fenced(9, "elsewhere"), replace(FETCHING, leader_epoch=4)):
        assert follow(REPLICA_RULES, 5, LOG, over) == FetchState(5, 100, 4)


def test_what_is_asked_depends_on_the_phase() -> None:
    assert ask(FETCHING, REPLICA_RULES, LOG) == FetchQuestion(100, 4)
    assert ask(replace(FETCHING, phase=Phase.LOCATING), REPLICA_RULES, LOG) == OffsetsQuestion()
    assert ask(replace(FETCHING, phase=Phase.TRUNCATING), MIRROR_RULES, LOG) == AskEndOffset(4)
    fenced = replace(FETCHING, phase=Phase.FENCED, began_at=10)
    assert ask(fenced, REPLICA_RULES, LOG) == Step(FetchState(5, 100, 4, began_at=10))


@pytest.mark.parametrize(
    ("rules", "log"),
    [(replace(MIRROR_RULES, protocol=TruncationProtocol.HIGH_WATERMARK), LOG), (MIRROR_RULES, WITHOUT_EPOCHS)],
    ids=["by rule", "without epochs"],
)
def test_without_epochs_the_log_is_cut_to_its_high_watermark(rules: FetchRules, log: FollowedLogState) -> None:
    state, action = ask(follow(rules, 5, log), rules, log)
    assert action == Truncate(80)
    assert state == FetchState(5, 80)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (EndOffset(4, 60), "epoch 4 ends at offset 60"),
        (EndOffset(0, 0), "epoch 0 ends at offset 0"),
        (EndOffset(-1, -1), "no such epoch"),
    ],
)
def test_what_is_cut_is_cut_for_what_the_leader_told(answer: EndOffset, told: str) -> None:
    _, action = after_epoch_answer(follow(MIRROR_RULES, 5, LOG), MIRROR_RULES, LOG, ErrorCode.NONE, answer, NOW)
    assert isinstance(action, Truncate)
    assert action.reason == f"in the log of the leader of epoch 5: {told}"


@BOTH
def test_an_error_means_to_wait(rules: FetchRules) -> None:
    waiting = Step(replace(FETCHING, ready_at=NOW + 1_000, reason="REQUEST_TIMED_OUT", lag=None))
    error, nothing = ErrorCode.REQUEST_TIMED_OUT, EndOffset(-1, -1)
    assert after_epoch_answer(FETCHING, rules, LOG, error, nothing, NOW) == waiting
    assert after_offsets(FETCHING, rules, LOG, error, LeaderOffsets(-1, -1), NOW) == waiting
    assert after_fetch(FETCHING, rules, LOG, error, nothing, NOW) == waiting
    assert after_failed_exchange(FETCHING, rules, "REQUEST_TIMED_OUT", NOW) == waiting.state


def test_a_leader_that_is_over_is_waited_out() -> None:
    state, action = after_fetch(FETCHING, REPLICA_RULES, LOG, ErrorCode.FENCED_LEADER_EPOCH, EndOffset(-1, -1), NOW)
    assert (state.phase, state.ready_at, state.lag, action) == (Phase.FENCED, NOW + 1_000, None, None)


def test_an_offset_out_of_range_leads_to_the_question_where_the_leaders_log_is() -> None:
    step = after_fetch(FETCHING, REPLICA_RULES, LOG, ErrorCode.OFFSET_OUT_OF_RANGE, EndOffset(-1, -1), NOW)
    assert step == Step(replace(FETCHING, phase=Phase.LOCATING))


@pytest.mark.parametrize(
    ("leader", "state", "action"),
    [
        (LeaderOffsets(0, 9), FetchState(5, 0, lag=9, began_at=0), StartAfresh(0)),
        (LeaderOffsets(101, 120), FetchState(5, 101, lag=19, began_at=101), StartAfresh(101)),
        (LeaderOffsets(100, 120), FetchState(5, 100, 4, lag=20), None),
        (LeaderOffsets(0, 100), FetchState(5, 100, 4, lag=0), None),
        (LeaderOffsets(0, 99), FetchState(5, 99, 4), Truncate(99)),
        (LeaderOffsets(0, 10), FetchState(5, 10, UNDEFINED_EPOCH), Truncate(10)),
    ],
    ids=["ends before ours", "starts beyond ours", "starts where ours ends", "as long", "shorter", "ends at our start"],
)
def test_a_replica_goes_on_where_the_leaders_log_is(
    leader: LeaderOffsets, state: FetchState, action: StartAfresh | Truncate | None
) -> None:
    locating = replace(FETCHING, phase=Phase.LOCATING)
    assert after_offsets(locating, REPLICA_RULES, LOG, ErrorCode.NONE, leader, NOW) == Step(state, action)


@pytest.mark.parametrize(
    ("leader", "offset", "lag"), [(LeaderOffsets(0, 120), 100, 20), (LeaderOffsets(0, 99), 99, None)]
)
def test_a_mirror_compares_epochs_before_it_fetches_there(leader: LeaderOffsets, offset: int, lag: int | None) -> None:
    locating = FetchState(5, 100, phase=Phase.LOCATING)
    state, _ = after_offsets(locating, MIRROR_RULES, LOG, ErrorCode.NONE, leader, NOW)
    assert state == FetchState(5, offset, phase=Phase.TRUNCATING, lag=lag)


def test_a_log_that_began_too_late_begins_anew() -> None:
    late = FetchState(5, 100, phase=Phase.LOCATING, began_at=10)
    assert after_offsets(late, REPLICA_RULES, LOG, ErrorCode.NONE, LeaderOffsets(9, 120), NOW).action == StartAfresh(9)
    assert after_offsets(late, REPLICA_RULES, LOG, ErrorCode.NONE, LeaderOffsets(10, 120), NOW).action is None


def test_what_was_fetched_from_elsewhere_than_the_end_is_not_appended() -> None:
    answer = Append(b"", 120, 0)
    assert after_fetch(FETCHING, REPLICA_RULES, LOG, ErrorCode.NONE, answer, NOW) == Step(FETCHING, answer)
    state, action = after_fetch(replace(FETCHING, fetch_offset=99), REPLICA_RULES, LOG, ErrorCode.NONE, answer, NOW)
    assert (state.phase, action) == (Phase.FAILED, None)


@pytest.mark.parametrize(("high_watermark", "lag"), [(120, 20), (101, 1), (100, 0), (90, 0)])
def test_after_an_append_it_is_known_how_far_the_leader_is_ahead(high_watermark: int, lag: int) -> None:
    state = after_append(replace(FETCHING, fetch_offset=90), REPLICA_RULES, LOG, Append(b"", high_watermark, 0))
    assert state == FetchState(5, 100, 4, lag=lag)


@pytest.mark.parametrize(
    ("log_start_offset", "phase"),
    [(-1, Phase.FETCHING), (0, Phase.LOCATING), (9, Phase.LOCATING), (10, Phase.FETCHING)],
)
def test_a_leader_that_starts_earlier_after_all_is_asked_again(log_start_offset: int, phase: Phase) -> None:
    began = replace(FETCHING, began_at=10)
    assert after_append(began, REPLICA_RULES, LOG, Append(b"", 120, log_start_offset)).phase is phase


def test_the_epoch_of_a_divergence_that_a_fetch_tells_counts_whatever_is_asked_otherwise() -> None:
    diverging = EndOffset(1, 70)
    newest, older = (
        after_fetch(FETCHING, replace(REPLICA_RULES, protocol=protocol), LOG, ErrorCode.NONE, diverging, NOW)
        for protocol in (TruncationProtocol.KIP_320, TruncationProtocol.KIP_101)
    )
    assert older == newest
    assert newest.action == Truncate(50)


def test_a_diverging_epoch_cuts_a_replica_which_fetches_on() -> None:
    step = after_fetch(FETCHING, REPLICA_RULES, LOG, ErrorCode.NONE, EndOffset(1, 40), NOW)
    assert step == Step(FetchState(5, 40, 1), Truncate(40))


def test_a_mirror_asks_on_until_the_epochs_agree() -> None:
    truncating = FetchState(5, 100, phase=Phase.TRUNCATING, lag=7, began_at=3)
    agreed = after_epoch_answer(truncating, MIRROR_RULES, LOG, ErrorCode.NONE, EndOffset(4, 100), NOW)
    assert agreed == Step(FetchState(5, 100, lag=7, began_at=3), Truncate(100))
    unknown = after_epoch_answer(truncating, MIRROR_RULES, LOG, ErrorCode.NONE, EndOffset(3, 70), NOW)
    assert unknown == Step(FetchState(5, 50, phase=Phase.TRUNCATING, began_at=3), Truncate(50))


def test_leaders_of_kip_101_told_no_epoch() -> None:
    rules = replace(MIRROR_RULES, protocol=TruncationProtocol.KIP_101)
    truncating = FetchState(5, 100, phase=Phase.TRUNCATING)
    step = after_epoch_answer(truncating, rules, LOG, ErrorCode.NONE, EndOffset(3, 70), NOW)
    assert step == Step(FetchState(5, 70), Truncate(70))


@BOTH
def test_what_was_cut_off_is_fetched_again(rules: FetchRules) -> None:
    last_epoch = 4 if rules.truncate_on_fetch else UNDEFINED_EPOCH
    expected = FetchState(5, 120, last_epoch, lag=3)
    assert after_cut(expected, LOG) == FetchState(5, 100, last_epoch)
    assert after_cut(replace(expected, fetch_offset=100), LOG) == replace(expected, fetch_offset=100)


@pytest.mark.parametrize(
    ("fetch_version", "tells_epochs", "expected"),
    [
        (12, True, REPLICA_RULES),
        (11, True, replace(REPLICA_RULES, truncate_on_fetch=False)),
        (12, False, FetchRules(TruncationProtocol.HIGH_WATERMARK, truncate_on_fetch=False)),
    ],
)
def test_the_rules_are_those_that_the_leader_speaks(
    fetch_version: int, tells_epochs: bool, expected: FetchRules
) -> None:
    assert REPLICA_RULES.for_leader(fetch_version, tells_epochs=tells_epochs) == expected
    assert REPLICA_RULES.back_off_ms == 1_000


def test_who_waits_longer_already_goes_on_waiting() -> None:
    waiting = FETCHING.delayed(50, "first")
    assert waiting.delayed(50, "second") is waiting
    assert waiting.delayed(51, "second") == replace(FETCHING, ready_at=51, reason="second", lag=None)
    assert not waiting.is_ready(49)
    assert waiting.is_ready(50)
    assert not waiting.failed("broken").is_ready(50)


def test_the_state_of_a_log_that_is_cut() -> None:
    assert LOG.truncate_to(60) == FollowedLogState(10, 60, 60, LOG.history)
    assert LOG.truncate_to(40) == FollowedLogState(10, 40, 40, EpochHistory([(1, 10)]))
    assert LOG.truncate_to(5) == FollowedLogState(5, 5, 5, EpochHistory())
    assert LOG.truncate_to(101) == LOG
    assert (LOG.latest_epoch, WITHOUT_EPOCHS.latest_epoch) == (4, UNDEFINED_EPOCH)
