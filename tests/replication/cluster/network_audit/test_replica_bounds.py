"""What is compared ends where all replicas in sync had got when they were asked; others may end before."""

import pytest

from replication.cluster.network_audit.errors import ReplicaMovedError
from replication.cluster.network_audit.replica_bounds import Bounds, SeenEnds, are_behind, bounds_of


def test_replicas_in_sync_end_at_the_least_of_their_high_watermarks() -> None:
    seen = {1: SeenEnds(0, 120), 2: SeenEnds(0, 117), 3: SeenEnds(5, 119)}
    assert bounds_of(seen, isr=(1, 2, 3)) == {1: Bounds(0, 117), 2: Bounds(0, 117), 3: Bounds(5, 117)}


def test_one_that_is_not_in_sync_ends_where_it_does_and_holds_up_no_other() -> None:
    seen = {1: SeenEnds(0, 120), 2: SeenEnds(0, 40), 3: SeenEnds(0, 118)}
    assert bounds_of(seen, isr=(1, 3)) == {1: Bounds(0, 118), 2: Bounds(0, 40), 3: Bounds(0, 118)}


def test_one_that_begins_beyond_the_end_has_nothing_to_compare() -> None:
    seen = {1: SeenEnds(0, 100), 2: SeenEnds(140, 150)}
    assert bounds_of(seen, isr=(1,)) == {1: Bounds(0, 100), 2: Bounds(140, 140)}


def test_where_no_answering_replica_is_in_sync_all_are_compared_up_to_the_least() -> None:
    assert bounds_of({2: SeenEnds(0, 9), 3: SeenEnds(0, 7)}, isr=(1,)) == {2: Bounds(0, 7), 3: Bounds(0, 7)}


def test_retention_that_overtakes_the_end_means_that_it_has_moved() -> None:
    with pytest.raises(ReplicaMovedError, match="broker 1 starts at 90, beyond 80"):
        bounds_of({1: SeenEnds(90, 95), 2: SeenEnds(0, 80)}, isr=(1, 2))


def test_who_in_sync_has_not_heard_of_the_leaders_high_watermark_is_behind() -> None:
    seen = {1: SeenEnds(0, 10), 2: SeenEnds(0, 9), 3: SeenEnds(0, 2)}
    assert are_behind(seen, leader=1, isr=(1, 2))
    assert not are_behind(seen, leader=2, isr=(1, 2))
    assert not are_behind(seen, leader=1, isr=(1,))
    assert not are_behind(seen, leader=4, isr=(1, 2))
