"""What is to be said of a partition, with the meanings of `kafka-topics --describe`."""

from typing import Any
from uuid import UUID

import pytest

from logstore import TopicPartition
from replication.cluster.operations.partition_view import TROUBLES, Condition, PartitionView

WELL: dict[str, Any] = {
    "partition": TopicPartition("orders", 0),
    "leader": 1,
    "replicas": (1, 2, 3),
    "isr": (1, 2, 3),
    "min_isr": 2,
}


def conditions(**changes: Any) -> set[str]:
    return {*PartitionView(**{**WELL, **changes}).conditions}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ""),
        ({"isr": (1, 2)}, "at-min-isr under-replicated"),
        ({"isr": (1,)}, "under-min-isr under-replicated"),
        ({"isr": (1,), "min_isr": None}, "under-replicated"),
        ({"min_isr": 3}, "at-min-isr"),
        ({"leader": -1, "isr": ()}, "unavailable under-min-isr under-replicated"),
        ({"leader": -1, "isr": (), "min_isr": None}, "unavailable under-replicated"),
        # Nobody leads, though enough were in sync when somebody did.
        ({"leader": -1}, "unavailable under-min-isr"),
        ({"leader": -1, "isr": (2, 3)}, "unavailable under-min-isr at-min-isr under-replicated"),
        ({"leader": 2}, "off-preferred"),
        # Broker 4 is added in place of 3, and not in sync yet: three are wanted, as before.
        ({"replicas": (1, 2, 4, 3), "adding": (4,), "removing": (3,)}, "reassigning"),
        ({"replicas": (1, 2, 4, 3), "adding": (4,), "removing": (3,), "isr": (1, 2, 4, 3)}, "reassigning"),
        (
            {"replicas": (1, 2, 4, 3), "adding": (4,), "removing": (3,), "isr": (1, 4)},
            "at-min-isr under-replicated reassigning",
        ),
        # One that ended after it was listed.
        ({"replicas": (1, 2), "isr": (1,), "removing": (3,)}, "under-min-isr under-replicated"),
        ({"replicas": (1, 2), "isr": (1, 2), "min_isr": 1, "adding": (4,)}, ""),
    ],
)
def test_conditions(changes: dict[str, Any], expected: str) -> None:
    assert conditions(**changes) == {*expected.split()}


def test_a_partition_at_its_minimum_or_on_the_move_is_no_trouble() -> None:
    assert {*Condition} - TROUBLES == {Condition.AT_MIN_ISR, Condition.REASSIGNING}


def test_json_names_what_is_known() -> None:
    view = PartitionView(**WELL, topic_id=UUID(int=7), leader_epoch=4, elr=(), last_known_elr=None)
    assert view.as_json() == {
        "topic": "orders",
        "topic_id": "AAAAAAAAAAAAAAAAAAAABw",
        "partition": 0,
        "leader": 1,
        "leader_epoch": 4,
        "replicas": (1, 2, 3),
        "isr": (1, 2, 3),
        "elr": (),
        "last_known_elr": None,
        "offline_replicas": (),
        "adding_replicas": (),
        "removing_replicas": (),
        "min_insync_replicas": 2,
        "conditions": (),
    }


def test_json_has_no_leader_where_nobody_leads() -> None:
    assert PartitionView(**{**WELL, "leader": -1}).as_json()["leader"] is None
