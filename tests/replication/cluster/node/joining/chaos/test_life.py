"""Clusters of chaos are drawn from a seed: of all kinds, and of four brokers each."""

from random import Random

from tests.replication.cluster.node.joining.chaos.life import Life


def test_a_seed_gives_the_same_life_again() -> None:
    assert Life.draw(Random(5)) == Life.draw(Random(5))


def test_each_kind_of_life_comes_up_with_each_other() -> None:
    lives = [Life.draw(Random(seed)) for seed in range(200)]
    assert len(set(lives)) == 8
    assert {each.kafkas + len(each.ours) for each in lives} == {4}
