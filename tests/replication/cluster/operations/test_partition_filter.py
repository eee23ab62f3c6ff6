"""Which partitions are shown."""

import pytest

from logstore import TopicPartition
from replication.cluster.operations.partition_filter import PartitionFilter
from replication.cluster.operations.partition_view import Condition, PartitionView


def view(topic: str, *, leader: int = 1, isr: tuple[int, ...] = (1, 2), is_internal: bool = False) -> PartitionView:
    return PartitionView(
        partition=TopicPartition(topic, 0), leader=leader, replicas=(1, 2), isr=isr, is_internal=is_internal
    )


def chosen(*topics: str, conditions: tuple[Condition, ...] = (), without_internal: bool = False) -> PartitionFilter:
    return PartitionFilter.naming((), frozenset(conditions), expressions=topics, without_internal=without_internal)


@pytest.mark.parametrize(
    ("topics", "topic", "expected"),
    [
        ((), "orders", True),
        (("orders",), "orders", True),
        (("orders",), "orders-eu", False),
        (("orders",), "my-orders", False),
        (("orders.*",), "orders-eu", True),
        (("payments", "orders"), "orders", True),
        (("payments,orders",), "orders", True),
        (("payments|orders",), "payments", True),
        (("payments",), "orders", False),
    ],
)
def test_a_name_or_pattern_matches_the_whole_name(topics: tuple[str, ...], topic: str, *, expected: bool) -> None:
    assert chosen(*topics).keeps(view(topic)) is expected


def test_any_of_several_conditions_is_enough() -> None:
    both = chosen(conditions=(Condition.UNAVAILABLE, Condition.OFF_PREFERRED))
    assert both.keeps(view("orders", leader=-1))
    assert both.keeps(view("orders", leader=2))
    assert not both.keeps(view("orders", isr=(1,)))


def test_topic_and_condition_hold_both() -> None:
    lagging = chosen("orders", conditions=(Condition.UNDER_REPLICATED,))
    assert lagging.keeps(view("orders", isr=(1,)))
    assert not lagging.keeps(view("payments", isr=(1,)))


def test_internal_topics_are_left_out_where_that_is_asked() -> None:
    internal = view("__consumer_offsets", is_internal=True)
    assert chosen().keeps(internal)
    assert not chosen(without_internal=True).keeps(internal)
    assert chosen(without_internal=True).keeps(view("orders"))
