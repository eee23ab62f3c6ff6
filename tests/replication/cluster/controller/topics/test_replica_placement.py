from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.replica_placement import UsableBroker, place_replicas

RACKS = st.sampled_from(["a", "b", "c", None])
CLUSTERS = st.lists(st.tuples(RACKS, st.booleans()), min_size=1, max_size=9).map(
    lambda brokers: [UsableBroker(number, rack, fenced) for number, (rack, fenced) in enumerate(brokers)]
)


@given(CLUSTERS, st.integers(1, 9), st.integers(1, 30), st.integers(0, 99))
def test_replicas_are_different_brokers_and_a_live_one_comes_first(
    brokers: list[UsableBroker], factor: int, partitions: int, seed: int
) -> None:
    live = {broker.broker_id for broker in brokers if not broker.fenced}
    if factor > len(brokers) or not live:
        with pytest.raises(Refusal, match="INVALID_REPLICATION_FACTOR"):
            place_replicas(brokers, partitions, factor, Random(seed))
        return
    placed = place_replicas(brokers, partitions, factor, Random(seed))
    assert len(placed) == partitions
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == factor
        assert replicas[0] in live


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 99))
def test_each_rack_gets_a_replica_before_any_gets_two(racks: int, brokers_of_a_rack: int, seed: int) -> None:
    brokers = [UsableBroker(number, str(number % racks), False) for number in range(racks * brokers_of_a_rack)]
    for replicas in place_replicas(brokers, 12, racks, Random(seed)):
        assert len({replica % racks for replica in replicas}) == racks


@given(st.integers(0, 99))
def test_replicas_are_spread_evenly_over_racks_and_brokers(seed: int) -> None:
    brokers = [UsableBroker(number, "abc"[number % 3], False) for number in range(9)]
    placed = place_replicas(brokers, 90, 3, Random(seed))
    assert set(Counter(replica for replicas in placed for replica in replicas).values()) == {30}


@given(st.integers(0, 99))
def test_without_racks_leaders_are_spread_evenly_too(seed: int) -> None:
    placed = place_replicas([UsableBroker(number, None, False) for number in range(9)], 90, 3, Random(seed))
    assert set(Counter(replicas[0] for replicas in placed).values()) == {10}


def test_fenced_brokers_come_last() -> None:
    brokers = [UsableBroker(number, None, number > 2) for number in range(5)]
    for replicas in place_replicas(brokers, 10, 3, Random(0)):
        assert set(replicas) == {0, 1, 2}
    for replicas in place_replicas(brokers, 10, 4, Random(0)):
        assert set(replicas[:3]) == {0, 1, 2}


def test_the_same_chance_places_the_same() -> None:
    brokers = [UsableBroker(number, None, False) for number in range(6)]
    assert place_replicas(brokers, 20, 3, Random(7)) == place_replicas(brokers, 20, 3, Random(7))
    assert place_replicas(brokers, 20, 3, Random(7)) != place_replicas(brokers, 20, 3, Random(8))


def test_why_replicas_cannot_be_placed_is_said() -> None:
    with pytest.raises(Refusal, match="because only 2 broker"):
        place_replicas([UsableBroker(1, None, False), UsableBroker(2, None, True)], 1, 3, Random(0))
    with pytest.raises(Refusal, match="All brokers are currently fenced"):
        place_replicas([UsableBroker(1, None, True)], 1, 1, Random(0))
    with pytest.raises(Refusal, match="must be positive"):
        place_replicas([UsableBroker(1, None, False)], 1, 0, Random(0))
