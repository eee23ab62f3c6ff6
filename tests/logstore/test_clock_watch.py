"""A wall clock is trusted as long as it goes as the steady one does, or as others say; with made clocks."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.clock_watch import HOUR_MS, ClockDoubt, ClockWatch

DAY_MS = 24 * HOUR_MS
START = 1_800_000_000_000


@dataclass
class Clocks:
    """A wall clock, a steady one, and the watch that looks at both."""

    wall_ms: int = START
    steady_ms: int = 5
    is_confirmed: bool = True
    watch: ClockWatch = field(init=False)

    def __post_init__(self) -> None:
        self.watch = ClockWatch(self.wall_ms, self.steady_ms, is_confirmed=self.is_confirmed)

    def go(self, passed_ms: int, gained_ms: int = 0) -> ClockDoubt | None:
        """Let time pass, by which the wall clock gains, and look."""
        self.wall_ms += passed_ms + gained_ms
        self.steady_ms += passed_ms
        return self.look()

    def look(self) -> ClockDoubt | None:
        return self.watch.doubt(self.wall_ms, self.steady_ms)

    def hear(self, other_ms: int) -> ClockDoubt | None:
        self.watch.hear(other_ms, self.wall_ms, self.steady_ms)
        return self.look()

    def confirm(self) -> None:
        self.watch.confirm(self.wall_ms, self.steady_ms)


def test_a_jump_ahead_is_doubted_for_as_long_as_it_lasts() -> None:
    clocks = Clocks()
    assert clocks.go(HOUR_MS, 400 * DAY_MS) == ClockDoubt(400 * DAY_MS)
    for _ in range(1_000):
        assert clocks.go(HOUR_MS) is not None


def test_how_far_it_is_ahead_is_said_in_words() -> None:
    assert str(Clocks().go(0, 400 * DAY_MS)) == "the wall clock is 9,600.0 h ahead of the time that has passed"


@pytest.mark.parametrize(("gained_ms", "is_doubted"), [(HOUR_MS, False), (HOUR_MS + 1, True)])
def test_a_jump_up_to_the_limit_is_none(gained_ms: int, *, is_doubted: bool) -> None:
    assert (Clocks().go(0, gained_ms) is not None) is is_doubted


def test_jumps_add_up() -> None:
    clocks = Clocks()
    assert [clocks.go(1_000, HOUR_MS // 4) is None for _ in range(8)] == [True] * 4 + [False] * 4


def test_a_clock_that_is_set_right_again_is_trusted() -> None:
    clocks = Clocks()
    clocks.go(0, 400 * DAY_MS)
    assert clocks.go(HOUR_MS, -400 * DAY_MS) is None


def test_one_that_was_set_back_is_not_trusted_ahead_again() -> None:
    """It may have been wrong from the beginning on."""
    clocks = Clocks()
    assert clocks.go(HOUR_MS, -400 * DAY_MS) is None
    assert clocks.go(HOUR_MS, 400 * DAY_MS) is not None


def test_who_knows_that_it_is_right_says_so() -> None:
    clocks = Clocks()
    clocks.go(0, 400 * DAY_MS)
    clocks.confirm()
    assert clocks.go(HOUR_MS) is None
    assert clocks.go(0, 2 * HOUR_MS) is not None


def test_another_clock_that_agrees_confirms_it() -> None:
    clocks = Clocks()
    clocks.go(0, 400 * DAY_MS)
    assert clocks.hear(clocks.wall_ms - HOUR_MS) is None
    assert clocks.go(HOUR_MS) is None


def test_another_clock_that_has_not_jumped_does_not() -> None:
    clocks = Clocks()
    clocks.go(0, 400 * DAY_MS)
    assert clocks.hear(clocks.wall_ms - HOUR_MS - 1) is not None


def test_what_another_clock_showed_long_ago_says_nothing() -> None:
    clocks = Clocks()
    clocks.go(HOUR_MS)
    assert clocks.hear(START - 30 * DAY_MS) is None


class TestUnconfirmed:
    """At a start there is nothing to hold the clock against but others."""

    def test_it_is_doubted_until_another_one_agrees(self) -> None:
        clocks = Clocks(is_confirmed=False)
        assert clocks.go(HOUR_MS) == ClockDoubt(None)
        assert clocks.hear(clocks.wall_ms - 30 * DAY_MS) == ClockDoubt(None)
        assert clocks.hear(clocks.wall_ms - 20) is None
        assert clocks.go(30 * DAY_MS) is None

    def test_one_that_is_behind_the_others_is_trusted(self) -> None:
        clocks = Clocks(is_confirmed=False)
        assert clocks.hear(clocks.wall_ms + 400 * DAY_MS) is None

    def test_a_jump_is_told_rather_than_that(self) -> None:
        assert Clocks(is_confirmed=False).go(0, DAY_MS) == ClockDoubt(DAY_MS)


@given(st.lists(st.tuples(st.integers(0, 3_650 * DAY_MS), st.floats(-1, 0.000_5)), max_size=30))
def test_a_clock_that_is_brought_to_the_time_slowly_is_never_doubted(steps: list[tuple[int, float]]) -> None:
    """However seldom or often anybody looks; nor one that goes back."""
    clocks = Clocks()
    for passed_ms, rate in steps:
        assert clocks.go(passed_ms, int(passed_ms * rate)) is None


@given(
    st.lists(st.tuples(st.integers(0, HOUR_MS), st.integers(-DAY_MS, HOUR_MS // 100)), max_size=20),
    st.integers(2 * HOUR_MS, 10**13),
    st.lists(st.integers(0, DAY_MS), max_size=20),
)
def test_whatever_came_before_a_large_jump_is_found(
    before: list[tuple[int, int]], jump_ms: int, after: list[int]
) -> None:
    clocks = Clocks()
    for passed_ms, gained_ms in before:
        clocks.go(passed_ms, gained_ms)
    assert clocks.go(0, jump_ms) is not None
    for passed_ms in after:
        assert clocks.go(passed_ms) is not None or sum(after) > HOUR_MS * 1_000
