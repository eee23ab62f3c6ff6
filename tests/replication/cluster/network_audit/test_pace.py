"""Bytes are paid for with time, and a broker that asks us to wait is obeyed, within reason."""

from hypothesis import given
from hypothesis import strategies as st

from replication.cluster.network_audit.pace import LONGEST_PAUSE, Pace


def test_without_a_rate_nobody_waits_unless_the_broker_asks_for_it() -> None:
    pace = Pace()
    assert pace.pause(now=10, size=1 << 30) == 0
    assert pace.pause(now=10, size=1, throttle_time_ms=250) == 0.25
    assert pace.pause(now=10, size=1, throttle_time_ms=1 << 30) == LONGEST_PAUSE


@given(st.lists(st.tuples(st.integers(0, 10_000), st.floats(0, 5)), min_size=1), st.integers(1, 5_000))
def test_the_rate_is_never_exceeded(answers: list[tuple[int, float]], rate: int) -> None:
    pace, now, fetched = Pace(rate), 100.0, 0
    for size, idle in answers:
        now += idle
        fetched += size
        now += pace.pause(now=now, size=size)
        assert fetched <= rate * (now - 100.0) * 1.000001 + 1e-6


def test_time_that_passed_without_a_fetch_is_not_saved_up() -> None:
    pace = Pace(1_000)
    assert pace.pause(now=0, size=500) == 0.5
    assert pace.pause(now=60, size=500) == 0.5
