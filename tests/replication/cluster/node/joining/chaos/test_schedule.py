"""Schedules of chaos: decided by their seed alone, and such that a cluster can follow them."""

from collections.abc import Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.replication.cluster.node.joining.chaos.schedule import Action, Schedule, draw

BROKERS, OURS, TWO_OF_OURS = (1, 2, 3, 9), (9,), (3, 9)
SEEDS = st.integers(min_value=0, max_value=1 << 32)


def drawn(seed: int, ours: Sequence[int] = OURS) -> Schedule:
    return draw(Random(seed), BROKERS, ours, 30, loses=bool(seed % 2))


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


@given(SEEDS, st.sampled_from([OURS, TWO_OF_OURS]))
def test_one_of_ours_loses_what_it_has_not_flushed_and_none_that_may_be_alone_in_sync(
    seed: int, ours: Sequence[int]
) -> None:
    steps = drawn(seed, ours).steps
    actions = [step.action for step in steps]
    lost = [number for number, action in enumerate(actions) if action is Action.LOSE]
    losers = {steps[number].nodes for number in lost}
    assert not losers or (len(losers) == 1 and losers <= {(each,) for each in ours})
    assert not lost or seed % 2
    assert not lost or Action.ELECT_UNCLEAN not in actions[: lost[-1]]


@given(SEEDS, st.sampled_from([OURS, TWO_OF_OURS]))
def test_one_of_two_that_an_unclean_election_is_between_is_ours(seed: int, ours: Sequence[int]) -> None:
    elections = [step for step in drawn(seed, ours).steps if step.action is Action.ELECT_UNCLEAN]
    assert all(len(set(each.nodes)) == 2 and set(each.nodes) & set(ours) for each in elections)


def test_half_of_what_befalls_brokers_befalls_ours() -> None:
    befallen = [
        step.nodes[0]
        for seed in range(200)
        for step in drawn(seed).steps
        if step.action in {Action.KILL, Action.STOP, Action.PAUSE}
    ]
    assert 0.3 < befallen.count(9) / len(befallen) < 0.7
    assert {*befallen} == {*BROKERS}
