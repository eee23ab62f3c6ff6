"""The topics of coordinators are placed as the other brokers would make them, and on these alone."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cluster.node.coordinators.coordinator_topic import COORDINATOR_TOPICS, CoordinatorTopic
from replication.cluster.node.coordinators.errors import TooFewCoordinatorsError
from replication.cluster.node.coordinators.placed_topic import Coordinator, PlacedTopic

TOPICS = st.sampled_from(COORDINATOR_TOPICS)


def settings_of(topic: CoordinatorTopic, partitions: int, factor: int) -> dict[str, str]:
    given_ones = {topic.partitions: str(partitions), topic.replication_factor: str(factor)}
    return {**dict.fromkeys(topic.settings, "7"), **given_ones}


@given(
    TOPICS,
    st.dictionaries(st.integers(0, 20), st.sampled_from(["a", "b", None]), min_size=1, max_size=6),
    st.integers(1, 12),
    st.integers(1, 4),
    st.integers(),
)
def test_each_replica_is_on_another_coordinator_or_it_is_refused_by_the_settings_name(
    topic: CoordinatorTopic, racks: dict[int, str | None], partitions: int, factor: int, seed: int
) -> None:
    brokers = [Coordinator(number, rack, settings_of(topic, partitions, factor)) for number, rack in racks.items()]
    if factor > len(racks):
        with pytest.raises(TooFewCoordinatorsError, match=f"{topic.replication_factor} of broker {min(racks)} is"):
            PlacedTopic.of(topic, brokers, {}, Random(seed))
        return
    placed = PlacedTopic.of(topic, brokers, {}, Random(seed))
    assert placed is not None
    assert (placed.name, len(placed.replicas)) == (topic.name, partitions)
    assert {len(set(replicas)) for replicas in placed.replicas} == {factor} == set(map(len, placed.replicas))
    assert {each for replicas in placed.replicas for each in replicas} <= racks.keys()
    assert placed.configs == {**topic.configs, **dict.fromkeys(topic.described, "7")}


@given(TOPICS)
def test_what_none_of_them_knows_is_not_made(topic: CoordinatorTopic) -> None:
    assert PlacedTopic.of(topic, [Coordinator(1, None, {})], {}, Random(1)) is None


def test_the_settings_of_the_first_that_knows_the_topic_hold() -> None:
    topic = COORDINATOR_TOPICS[2]
    brokers = [
        Coordinator(3, None, settings_of(topic, 4, 2)),
        Coordinator(1, None, {}),
        Coordinator(2, None, settings_of(topic, 5, 3)),
    ]
    placed = PlacedTopic.of(topic, brokers, {}, Random(1))
    assert placed is not None
    assert (len(placed.replicas), len(placed.replicas[0])) == (5, 3)


def test_a_refusal_says_why_others_cannot_have_a_replica() -> None:
    topic = COORDINATOR_TOPICS[0]
    with pytest.raises(TooFewCoordinatorsError, match="only 1 can have a replica, 2 \\(broker 4 is fenced\\)"):
        PlacedTopic.of(topic, [Coordinator(2, None, settings_of(topic, 50, 3))], {4: "is fenced"}, Random(1))
