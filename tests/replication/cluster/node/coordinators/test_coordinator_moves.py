"""Moves take partitions of coordinators' topics off brokers that coordinate nothing, and off no others."""

import json
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.cluster.node.coordinators.coordinator_moves import coordinator_moves
from replication.cluster.node.coordinators.coordinator_topic import COORDINATOR_TOPICS
from replication.cluster.node.coordinators.other_coordinators import GROUPS, TRANSACTIONS
from replication.records.metadata.records import PartitionChangeRecord
from tests.replication.cluster.node.coordinators.images import image_of

OURS, OTHER_OF_OURS = 9, 8
REPLICAS = st.lists(st.sampled_from([1, 2, 3, 4, OTHER_OF_OURS, OURS]), min_size=1, max_size=3, unique=True)
NAMES = st.sampled_from([*(each.name for each in COORDINATOR_TOPICS), "orders"])
TOPICS = st.dictionaries(NAMES, st.lists(REPLICAS, min_size=1, max_size=6))
COORDINATORS = st.sets(st.sampled_from([1, 2, 3]))


def all_of(topics: Mapping[str, Sequence[Sequence[int]]]) -> dict[TopicPartition, tuple[int, ...]]:
    return {
        TopicPartition(name, number): tuple(replicas)
        for name, partitions in topics.items()
        for number, replicas in enumerate(partitions)
    }


@given(TOPICS, COORDINATORS)
def test_afterwards_it_has_none_and_all_others_have_what_they_had(
    topics: dict[str, list[list[int]]], coordinators: set[int]
) -> None:
    planned = coordinator_moves(image_of(topics), OURS, coordinators, {OTHER_OF_OURS})
    before = all_of(topics)
    assert set(planned.partitions) == {each for each, has in before.items() if OURS in has and each.topic != "orders"}
    for each, has in ((each, before[each]) for each in planned.partitions):
        kept = [replica for replica in has if replica not in {OURS, OTHER_OF_OURS}]
        moved = planned.moves.get(each)
        if moved is None:
            assert not kept
            assert not coordinators
            continue
        assert len(set(moved)) == len(moved) <= len(has)
        assert not {OURS, OTHER_OF_OURS} & set(moved)
        assert [replica for replica in moved if replica in kept] == kept
        assert set(moved) <= {*kept, *coordinators}
        assert len(moved) == min(len(has), len({*kept, *coordinators}))


@given(TOPICS, COORDINATORS.filter(bool))
def test_what_two_of_ours_were_told_may_be_done_one_after_the_other(
    topics: dict[str, list[list[int]]], coordinators: set[int]
) -> None:
    after = all_of(topics)
    for own, other in ((OURS, OTHER_OF_OURS), (OTHER_OF_OURS, OURS)):
        after |= coordinator_moves(image_of(topics), own, coordinators, {other}).moves
    assert not any({OURS, OTHER_OF_OURS} & set(has) for each, has in after.items() if each.topic != "orders")


def test_who_has_fewest_takes_the_next_in_the_same_place() -> None:
    topics = {GROUPS: [[OURS, 1], [1, OURS], [OURS]], TRANSACTIONS: [[2]]}
    planned = coordinator_moves(image_of(topics), OURS, {1, 2, 3}, ())
    assert list(planned.moves.values()) == [(3, 1), (1, 2), (3,)]


def test_they_are_what_kafkas_tool_reads() -> None:
    planned = coordinator_moves(image_of({GROUPS: [[1], [OURS, 1]]}), OURS, {1, 2}, ())
    assert " " not in planned.as_json
    assert json.loads(planned.as_json) == {
        "version": 1,
        "partitions": [{"topic": GROUPS, "partition": 1, "replicas": [2, 1]}],
    }


def test_a_replica_that_is_about_to_go_is_none() -> None:
    image = image_of({GROUPS: [[OURS, 1]]})
    (topic,) = image.topics
    change = PartitionChangeRecord(partition_id=0, topic_id=topic.id, removing_replicas=(OURS,))
    image.replay(change)
    assert coordinator_moves(image, OURS, {1}, ()).partitions == {}
