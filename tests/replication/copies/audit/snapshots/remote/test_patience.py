"""What requests that fail may take altogether is bounded, by a clock that the test turns."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.copies.audit.snapshots.remote.patience import MOST_SECONDS, SHARE, Patience, patience_with


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.tuples(st.floats(0, 12), st.booleans()), max_size=200))
def test_failures_take_what_is_allowed_and_a_share_of_the_time_and_what_the_last_one_took(
    requests: list[tuple[float, bool]],
) -> None:
    clock, lost = Clock(), 0.0
    patience = Patience(clock=clock)
    for seconds, fails in requests:
        if fails and not patience.is_left:
            continue
        with suppress(OSError), patience.asking():
            clock.now += seconds
            if fails:
                lost += seconds
                raise OSError
    assert lost <= MOST_SECONDS + SHARE * clock.now + 12


def test_patience_comes_back_as_time_goes_by() -> None:
    clock = Clock()
    patience = Patience(clock=clock)
    clock.now += MOST_SECONDS + 1
    patience.waited(MOST_SECONDS + 1)
    assert not patience.is_left
    clock.now += 1 / SHARE
    assert not patience.is_left
    clock.now += 1
    assert patience.is_left
    clock.now += 1_000_000
    patience.waited(MOST_SECONDS)
    assert not patience.is_left


def test_what_several_wait_for_at_once_counts_once() -> None:
    clock = Clock()
    patience = Patience(clock=clock)
    clock.now += MOST_SECONDS - 1
    for _ in range(16):
        patience.waited(MOST_SECONDS - 1)
    assert patience.is_left


def test_what_succeeds_costs_none() -> None:
    clock = Clock()
    patience = Patience(clock=clock)
    with patience.asking():
        clock.now += MOST_SECONDS + 1
    assert patience.is_left


@pytest.mark.parametrize(
    "other", [("s3", "bucket", "region=b"), ("s3", "other", "region=a"), ("gs", "bucket", "region=a")]
)
def test_all_that_is_read_of_one_store_shares_it(other: tuple[str, str, str]) -> None:
    mine = patience_with("s3", "bucket", "region=a")
    assert patience_with("s3", "bucket", "region=a") is mine
    assert patience_with(*other) is not mine
