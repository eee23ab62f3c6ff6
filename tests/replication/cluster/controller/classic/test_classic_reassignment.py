"""How a ZooKeeper-era controller moves partitions, beyond the recorded cases."""

from unittest.mock import patch

import pytest

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.errors import (
    BadVersionError,
    MalformedNodeError,
    SessionLostError,
)
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.classic.store.cluster_store import ClusterStore
from replication.cluster.controller.refusal import Refusal
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.controller.classic.cluster import ClassicCluster, P, Q, leader_and_isr, named


def test_it_ends_once_all_are_in_sync_and_the_old_replicas_are_deleted(cluster: ClassicCluster) -> None:
    cluster.start(4)
    cluster.controller.reassign(P, (4, 2))
    cluster.settle()
    assert cluster.assignment(P) == ReplicaAssignment((4, 2, 1, 3), (4,), (1, 3))
    cluster.set_isr(P, 1, 2, 3, 4)
    assert cluster.assignment(P) == ReplicaAssignment((4, 2))
    state = cluster.state(P)
    assert (state.leader, {*state.isr}) == (4, {4, 2})
    assert {each for each in cluster.told_to_stop(P) if each[1]} == {(1, True), (3, True)}


def test_a_watch_of_the_state_is_enough_to_end_it(cluster: ClassicCluster) -> None:
    """A leader's notice may be lost with the controller that should have read it."""
    cluster.start(4)
    cluster.controller.reassign(P, (4,))
    cluster.settle()
    in_sync = cluster.state(P)._replace(isr=(1, 2, 3, 4))
    cluster.admin.set(nodes.state_path(P), nodes.encode_state(in_sync))
    cluster.settle()
    assert cluster.assignment(P) == ReplicaAssignment((4,))


def test_cancelled_it_leaves_what_there_was(cluster: ClassicCluster) -> None:
    cluster.start(4)
    cluster.ask_reassignment({P: (4, 2)})
    cluster.controller.reassign(P, None)
    cluster.settle()
    assert {*cluster.assignment(P).replicas} == {1, 2, 3}
    assert not cluster.assignment(P).is_being_reassigned
    assert cluster.told_to_stop(P) == [(4, False), (4, True)]
    assert not cluster.admin.exists(nodes.REASSIGN_PARTITIONS)


def test_what_was_asked_last_is_what_another_controller_goes_on_with(cluster: ClassicCluster) -> None:
    cluster.start(4)
    cluster.ask_reassignment({P: (4, 2)})
    cluster.controller.reassign(P, (4, 3))
    cluster.controller_session.close()
    cluster.elect_controller()
    cluster.begin()
    assert cluster.assignment(P).target == (4, 3)
    cluster.set_isr(P, 1, 2, 3, 4)
    assert cluster.assignment(P) == ReplicaAssignment((4, 3))


def test_it_waits_for_one_of_its_replicas_that_lives(cluster: ClassicCluster) -> None:
    cluster.start(4)
    cluster.controller.reassign(P, (4,))
    cluster.kill(4)
    cluster.set_isr(P, 1, 4)
    assert cluster.assignment(P).is_being_reassigned
    assert cluster.state(P).leader == 1


def test_redirected_by_a_controller_that_dies_it_leaves_nobody_in_sync_who_is_not_assigned(
    cluster: ClassicCluster,
) -> None:
    cluster.start(4)
    cluster.start(5)
    cluster.controller.reassign(P, (4, 5))
    cluster.set_isr(P, 1, 2, 3, 4)
    dies = patch.object(ClusterStore, "set_assignment", side_effect=SessionLostError("simulated"))
    with dies, pytest.raises(Refusal, match="NOT_CONTROLLER"):
        cluster.controller.reassign(P, (5, 1))
    assert 4 not in cluster.state(P).isr
    assert 4 in cluster.assignment(P).replicas, "the next controller knows of it"


def test_before_it_is_cancelled_the_leader_can_take_nobody_in_any_more(cluster: ClassicCluster) -> None:
    """The controller may die before it tells the leader who is not assigned any more."""
    cluster.start(4)
    cluster.controller.reassign(P, (4,))
    cluster.settle()
    known = cluster.state(P)
    dies = patch.object(ClusterStore, "set_assignment", side_effect=SessionLostError("simulated"))
    with dies, pytest.raises(Refusal, match="NOT_CONTROLLER"):
        cluster.controller.reassign(P, None)
    with pytest.raises(BadVersionError):
        cluster.admin.set(nodes.state_path(P), nodes.encode_state(known._replace(isr=(1, 4))), known.version)


def test_it_is_not_cancelled_where_only_a_new_replica_could_lead(cluster: ClassicCluster) -> None:
    cluster.start(4)
    cluster.start(5)
    cluster.controller.reassign(P, (4, 5))
    cluster.set_isr(P, 1, 4)
    cluster.kill(1)
    assert leader_and_isr(cluster) == (4, (4,))
    with pytest.raises(Refusal, match="INVALID_REPLICA_ASSIGNMENT"):
        cluster.controller.reassign(P, None)
    assert cluster.assignment(P).is_being_reassigned


@pytest.mark.parametrize(
    ("partition", "target", "code"),
    [
        (named("nowhere-0"), (1,), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (P, None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        (P, (), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (P, (1, 1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (P, (1, 9), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_what_cannot_be_is_refused(
    cluster: ClassicCluster, partition: TopicPartition, target: tuple[int, ...] | None, code: ErrorCode
) -> None:
    with pytest.raises(Refusal) as refused:
        cluster.controller.reassign(partition, target)
    assert refused.value.code is code
    assert cluster.assignment(P) == ReplicaAssignment((1, 2, 3))


def test_a_request_in_the_store_that_cannot_be_is_dropped_and_the_others_are_done(cluster: ClassicCluster) -> None:
    cluster.ask_reassignment({P: (9,), Q: (2,)})
    assert cluster.assignment(P) == ReplicaAssignment((1, 2, 3))
    assert cluster.assignment(Q) == ReplicaAssignment((2,))
    assert not cluster.admin.exists(nodes.REASSIGN_PARTITIONS)


def test_a_request_that_nobody_can_read_is_dropped_and_told(cluster: ClassicCluster) -> None:
    cluster.admin.create(nodes.REASSIGN_PARTITIONS, b"move it")
    with pytest.raises(MalformedNodeError, match=nodes.REASSIGN_PARTITIONS):
        cluster.settle()
    cluster.settle()
    assert not cluster.admin.exists(nodes.REASSIGN_PARTITIONS)
    cluster.ask_reassignment({Q: (2,)})
    assert cluster.assignment(Q) == ReplicaAssignment((2,))
