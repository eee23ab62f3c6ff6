"""The earliest of many times beside a plain look at each."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from replication.cluster.broker.groups.deadlines import Deadlines

KEYS = st.sampled_from("abcdefgh")
TIMES = st.sampled_from([0.0, 1.0, 2.0, 3.0, inf])
STEPS = st.one_of(
    st.tuples(st.just("put"), KEYS, TIMES),
    st.tuples(st.just("discard"), KEYS, st.none()),
    st.tuples(st.just("due"), KEYS, TIMES),
)


@given(st.lists(STEPS, max_size=300))
def test_what_is_due_is_what_a_look_at_each_finds(
    steps: list[tuple[str, str, float]],
) -> None:
    deadlines, plain = Deadlines(), dict[str, float]()
    for step, key, at in steps:
        if step == "put":
            deadlines.put(key, at)
            plain[key] = at
        elif step == "discard":
            deadlines.discard(key)
            plain.pop(key, None)
        else:
            due = list(deadlines.due(at))
            assert sorted(due, key=lambda each: (plain[each], each)) == due
            assert set(due) == {each for each, until in plain.items() if until <= at}
            plain = {each: until for each, until in plain.items() if until > at}
        assert deadlines.earliest == min(plain.values(), default=inf)
        assert len(deadlines) == len(plain)
        assert all(each in deadlines for each in plain)


def test_one_that_changes_all_the_time_takes_no_more_and_more_memory() -> None:
    deadlines = Deadlines()
    deadlines.put("first", 1.0)
    for at in range(10_000):
        deadlines.put("later", 2.0 + at)
    assert len(deadlines._heap) < 200
    assert deadlines.earliest == 1.0
