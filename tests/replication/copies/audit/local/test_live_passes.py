"""What moves is read again and nothing else, until nothing moves or the time is over: decided without a clock."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.copies.audit.local.live_passes import FIRST_PAUSE, LONGEST_PAUSE, LivePass, LivePasses

PATIENCES = st.sampled_from([0.0, 0.05, 1.0, 60.0, 3_600.0])
MOVES = st.lists(st.integers(0, 9), max_size=8)
"""How often each of some tasks moves before it stands still."""


def carried_out(moves: list[int], patience: float, seconds: float) -> tuple[list[LivePass], LivePasses, list[float]]:
    """Do what is decided, each pass in so many seconds; return the passes, and when each has begun."""
    passes, taken, begun, now = LivePasses(range(len(moves)), patience), [], [], 1000.0
    left = Counter(dict(enumerate(moves)))
    while turn := passes.next(now):
        now += turn.pause
        taken.append(turn)
        begun.append(now)
        now += seconds
        for task in turn.due:
            passes.note(task, moved=left[task] > 0)
            left[task] -= 1
    return taken, passes, begun


@given(MOVES, PATIENCES, st.floats(0, 100))
def test_each_pass_reads_what_moved_in_the_one_before_and_nothing_else(
    moves: list[int], patience: float, seconds: float
) -> None:
    taken, passes, _ = carried_out(moves, patience, seconds)
    for number, turn in enumerate(taken):
        assert turn.number == number + 1
        assert turn.due == {task for task, times in enumerate(moves) if times >= number}
    assert passes.reads == Counter(task for turn in taken for task in turn.due)


@given(MOVES, PATIENCES, st.floats(0, 100))
def test_a_task_is_known_exactly_if_it_stood_still_the_last_time(
    moves: list[int], patience: float, seconds: float
) -> None:
    _, passes, _ = carried_out(moves, patience, seconds)
    assert passes.unsettled == {task for task, times in enumerate(moves) if passes.reads[task] <= times}


@given(MOVES, PATIENCES, st.floats(0, 100))
def test_it_ends_with_what_moves_or_with_the_patience(moves: list[int], patience: float, seconds: float) -> None:
    taken, passes, begun = carried_out(moves, patience, seconds)
    needed = max(moves, default=-1) + 1
    assert len(taken) <= needed
    if not taken:
        return
    deadline = begun[0] + seconds + patience
    assert all(when <= deadline + 1e-6 for when in begun[1:])
    if len(taken) < needed:
        assert begun[-1] + seconds >= deadline - 1e-6
        assert passes.unsettled


@given(PATIENCES, st.floats(0, 1))
def test_what_always_moves_is_read_a_bounded_number_of_times_in_growing_distances(
    patience: float, seconds: float
) -> None:
    taken, passes, _ = carried_out([1_000_000], patience, seconds)
    pauses = [turn.pause for turn in taken]
    assert pauses[0] == 0
    assert pauses[1:-1] == sorted(pauses[1:-1])
    assert all(FIRST_PAUSE <= pause <= LONGEST_PAUSE for pause in pauses[1:-1])
    assert sum(pauses) <= patience + 1e-6
    assert len(taken) <= 8 + patience / LONGEST_PAUSE
    assert passes.number == len(taken) == passes.reads[0]


def test_without_patience_all_is_read_once() -> None:
    taken, passes, _ = carried_out([1, 0], 0, 5)
    assert [turn.due for turn in taken] == [{0, 1}]
    assert passes.unsettled == {0}


def test_what_was_not_done_stays_due() -> None:
    passes = LivePasses(range(3), 60)
    assert passes.next(0) == LivePass(1, 0, frozenset({0, 1, 2}))
    passes.note(1, moved=False)
    second = passes.next(1)
    assert second is not None
    assert second.due == {0, 2}


@pytest.mark.parametrize("patience", [0.0, 60.0])
def test_of_nothing_nothing_is_read(patience: float) -> None:
    assert LivePasses([], patience).next(0) is None


OUTCOMES = st.lists(st.sampled_from(["moved", "sound", "damaged", "forked"]), min_size=1, max_size=8)
"""What comes of one task, each time that it is done."""


@given(OUTCOMES)
def test_what_is_wrong_has_to_be_seen_twice_in_a_row(outcomes: list[str]) -> None:
    passes = LivePasses([0], 3_600)
    done: list[str] = []
    for outcome in outcomes:
        assert passes.next(len(done)) is not None
        done.append(outcome)
        is_wrong = outcome in {"damaged", "forked"}
        passes.note(0, moved=outcome == "moved", troubles=frozenset({(outcome,)} if is_wrong else ()))
        if not passes.unsettled:
            break
    settled = outcome == "sound" or (is_wrong and done[-2:] == [outcome] * 2)
    assert (not passes.unsettled) == settled
    assert "sound" not in done[:-1]
    assert all(one != other or one == "moved" for one, other in pairwise(done[:-1]))
