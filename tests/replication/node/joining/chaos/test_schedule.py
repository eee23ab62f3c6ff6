"""Schedules of chaos: decided by their seed alone, and such that a cluster can follow them."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.replication.node.joining.chaos.schedule import Action, Schedule, draw

BROKERS, OURS = (1, 2, 3, 9), (9,)
SEEDS = st.integers(min_value=0, max_value=1 << 32)


def drawn(seed: int) -> Schedule:
    return draw(Random(seed), BROKERS, OURS, 30, loses=bool(seed % 2))


@given(SEEDS)
def test_a_seed_gives_the_same_schedule_again(seed: int) -> None:
    assert drawn(seed) == drawn(seed)


@given(SEEDS)
def test_no_more_than_two_are_down_and_only_those_that_are_down_start(seed: int) -> None:
    down: set[int] = set()
    for step in drawn(seed).steps:
        nodes = set(step.nodes)
        if step.action is Action.START:
            assert nodes <= down
            down -= nodes
        elif step.action in {Action.KILL, Action.STOP, Action.LOSE, Action.PAUSE}:
            assert not nodes & down
            down |= nodes if step.action is not Action.PAUSE else set()
        elif step.action is Action.ELECT_UNCLEAN:
            assert not down
            down = {step.nodes[0]}
        assert len(down) <= 2


@given(SEEDS)
def test_topics_are_deleted_once_after_they_were_created(seed: int) -> None:
    made: set[int] = set()
    for step in drawn(seed).steps:
        if step.action is Action.CREATE:
            made.add(step.number)
        elif step.action is Action.DELETE:
            made.remove(step.number)


@given(SEEDS)
def test_only_ours_lose_what_they_have_not_flushed_and_none_that_may_be_alone_in_sync(seed: int) -> None:
    actions = [step.action for step in drawn(seed).steps]
    lost = [number for number, action in enumerate(actions) if action is Action.LOSE]
    assert all(drawn(seed).steps[number].nodes == OURS for number in lost)
    assert not lost or seed % 2
    assert not lost or Action.ELECT_UNCLEAN not in actions[: lost[-1]]


def test_half_of_what_befalls_brokers_befalls_ours() -> None:
    befallen = [
        step.nodes[0]
        for seed in range(200)
        for step in drawn(seed).steps
        if step.action in {Action.KILL, Action.STOP, Action.PAUSE}
    ]
    assert 0.3 < befallen.count(9) / len(befallen) < 0.7
    assert {*befallen} == {*BROKERS}
