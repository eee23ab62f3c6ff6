"""Brokers tell in which of their directories replicas lie."""

from uuid import UUID

import pytest

from replication.cluster.controller.refusal import Refusal
from replication.records.metadata.records import UNASSIGNED_DIRECTORY
from replication.wire.error_code import ErrorCode
from replication.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, PlacedReplica
from tests.replication.cluster.controller.small_cluster import SmallCluster

ONE, OTHER = UUID(int=5_001), UUID(int=5_002)


@pytest.fixture
def cluster() -> SmallCluster:
    cluster = SmallCluster(2)
    cluster.now += 60_000  # its session has run out
    cluster.register(1, incarnation=9, log_dirs=(ONE, OTHER))
    cluster.heartbeat(1)
    cluster.heartbeat(2)
    cluster.topic("orders", (1, 2))
    return cluster


def placing(
    cluster: SmallCluster, broker_id: int, directory: UUID, *, topic: str = "orders", number: int = 0, stale: int = 0
) -> AssignReplicasToDirsRequest:
    topic_id = cluster.key(topic, number).topic_id if topic == "orders" else UUID(int=4)
    return AssignReplicasToDirsRequest(
        broker_id=broker_id,
        broker_epoch=cluster.epochs[broker_id] - stale,
        replicas=(PlacedReplica(directory, topic_id, number),),
    )


def assign(cluster: SmallCluster, broker_id: int, directory: UUID) -> ErrorCode:
    (answer,) = cluster.done(cluster.controller.assign_directories(placing(cluster, broker_id, directory)))
    return answer.error


def test_a_replica_is_where_its_broker_has_put_it(cluster: SmallCluster) -> None:
    before = cluster.partition("orders")
    assert before.directory_of(1) == UNASSIGNED_DIRECTORY
    assign(cluster, 1, OTHER)
    after = cluster.partition("orders")
    assert (after.directory_of(1), after.directory_of(2)) == (OTHER, before.directory_of(2))
    assert (after.leader_epoch, after.partition_epoch) == (before.leader_epoch, before.partition_epoch + 1)


def test_what_is_known_changes_nothing(cluster: SmallCluster) -> None:
    assign(cluster, 1, OTHER)
    before = cluster.partition("orders")
    assign(cluster, 1, OTHER)
    assert cluster.partition("orders") == before


def test_a_broker_that_has_no_replica_assigns_none(cluster: SmallCluster) -> None:
    cluster.register(3)
    before = cluster.partition("orders")
    assert assign(cluster, 3, ONE) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.partition("orders") == before


def test_an_earlier_start_of_a_broker_is_refused(cluster: SmallCluster) -> None:
    with pytest.raises(Refusal, match="STALE_BROKER_EPOCH"):
        cluster.controller.assign_directories(placing(cluster, 1, ONE, stale=1))


def test_what_does_not_exist_lies_nowhere(cluster: SmallCluster) -> None:
    for request, error in (
        (placing(cluster, 1, ONE, topic="gone"), ErrorCode.UNKNOWN_TOPIC_ID),
        (placing(cluster, 1, ONE, number=7), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        decision = cluster.controller.assign_directories(request)
        assert ([each.error for each in decision.answer], decision.records) == ([error], [])


def test_the_leaderships_of_a_directory_that_fails_are_given_away(cluster: SmallCluster) -> None:
    assign(cluster, 1, OTHER)
    cluster.heartbeat(1, offline_log_dirs=(OTHER,))
    assert cluster.partition("orders").leader == 2


def test_what_is_told_to_lie_in_a_directory_that_has_failed_before_leads_no_more(cluster: SmallCluster) -> None:
    assign(cluster, 1, ONE)
    cluster.heartbeat(1, offline_log_dirs=(OTHER,))
    before = cluster.partition("orders")
    assert (before.leader, before.isr) == (1, (1, 2))
    assert assign(cluster, 1, OTHER) is ErrorCode.NONE
    after = cluster.partition("orders")
    assert (after.leader, after.isr, after.directory_of(1)) == (2, (2,), OTHER)
    assert after.leader_epoch == before.leader_epoch + 1
    assign(cluster, 1, OTHER)
    assert cluster.partition("orders") == after


def test_the_only_one_in_sync_stays_so_and_leads_again_once_its_directory_is_back(cluster: SmallCluster) -> None:
    cluster.heartbeat(1, offline_log_dirs=(OTHER,))
    cluster.set_isr("orders", 1)
    assign(cluster, 1, OTHER)
    assert (cluster.partition("orders").leader, cluster.partition("orders").isr) == (-1, (1,))
    cluster.now += 60_000
    cluster.register(1, incarnation=10, log_dirs=(ONE, OTHER))
    cluster.heartbeat(1)
    assert cluster.partition("orders").leader == 1


def test_without_a_directory_a_replica_is_on_no_disk_that_has_failed(cluster: SmallCluster) -> None:
    assign(cluster, 1, OTHER)
    before = cluster.partition("orders")
    assert assign(cluster, 1, UNASSIGNED_DIRECTORY) is ErrorCode.NONE
    after = cluster.partition("orders")
    assert (after.leader, after.isr, after.leader_epoch) == (before.leader, before.isr, before.leader_epoch)
