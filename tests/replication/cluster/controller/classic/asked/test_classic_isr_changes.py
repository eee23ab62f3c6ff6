"""What a controller of the ZooKeeper era grants leaders that ask for another ISR, and what it refuses."""

from uuid import UUID

import pytest

from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.store import nodes
from replication.records.metadata.partition import LeaderRecoveryState
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    InSyncReplica,
    IsrAnswer,
    IsrChange,
)
from tests.replication.cluster.controller.classic.cluster import ClassicCluster, named

P = named("t-0")
ID = UUID(int=7)


@pytest.fixture
def cluster() -> ClassicCluster:
    """The topic t, with an id, of one partition, which 1 leads."""
    cluster = ClassicCluster()
    data = nodes.encode_assignments({0: ReplicaAssignment((1, 2, 3))}, ID)
    cluster.admin.create(nodes.topic_path("t"), data)
    cluster.begin()
    del cluster.sent[:]
    return cluster


def change(cluster: ClassicCluster, *isr: int, recovery: int = 0, **other: int) -> IsrChange:
    state = cluster.state(P)
    epochs = {"leader_epoch": state.leader_epoch, "partition_epoch": state.version}
    members = tuple(map(InSyncReplica, isr))
    return IsrChange(ID, 0, isr=members, leader_recovery_state=recovery, **{**epochs, **other})


def ask(cluster: ClassicCluster, *changes: IsrChange, sender: int = 1, stale: int = 0) -> AlterPartitionResponse:
    epoch = cluster.context.broker_epochs.get(sender, 0) - stale
    request = AlterPartitionRequest(broker_id=sender, broker_epoch=epoch, changes=changes)
    return cluster.controller.decide(lambda term: term.isr_changes.change(request))


def error(cluster: ClassicCluster, asked: IsrChange, sender: int = 1) -> ErrorCode:
    (answer,) = ask(cluster, asked, sender=sender).answers
    return answer.error


def test_an_isr_is_written_and_all_brokers_get_notice(cluster: ClassicCluster) -> None:
    (answer,) = ask(cluster, change(cluster, 1, 2)).answers
    state = cluster.state(P)
    assert answer == IsrAnswer(ID, 0, ErrorCode.NONE, 1, state.leader_epoch, (1, 2), 0, state.version)
    assert (state.isr, state.leader_epoch) == ((1, 2), 0)
    cluster.settle()
    assert {broker for broker, told in cluster.told_metadata() if told.partitions[P].isr == (1, 2)} == {1, 2, 3}


def test_what_is_asked_again_as_its_answer_was_lost_is_granted_again(cluster: ClassicCluster) -> None:
    asked = change(cluster, 1, 2)
    ask(cluster, asked)
    before = cluster.state(P)
    assert error(cluster, asked) is ErrorCode.NONE
    assert cluster.state(P) == before


def test_another_registration_of_the_broker_counts_for_nothing(cluster: ClassicCluster) -> None:
    asked = change(cluster, 1, 2)
    assert ask(cluster, asked, stale=1).error is ErrorCode.STALE_BROKER_EPOCH
    assert ask(cluster, asked, sender=9).error is ErrorCode.STALE_BROKER_EPOCH
    assert cluster.state(P).isr == (1, 2, 3)


def test_what_is_not_granted(cluster: ClassicCluster) -> None:
    ask(cluster, change(cluster, 1, 2))
    state = cluster.state(P)
    refused = {
        ErrorCode.UNKNOWN_TOPIC_ID: change(cluster, 1)._replace(topic_id=UUID(int=8)),
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: change(cluster, 1)._replace(partition=9),
        ErrorCode.FENCED_LEADER_EPOCH: change(cluster, 1, leader_epoch=state.leader_epoch - 1),
        ErrorCode.INVALID_UPDATE_VERSION: change(cluster, 1, partition_epoch=state.version - 1),
        ErrorCode.INELIGIBLE_REPLICA: change(cluster, 1, 3),
    }
    cluster.kill(3)
    assert {each: error(cluster, asked) for each, asked in refused.items()} == {each: each for each in refused}
    for asked in (change(cluster, 1, leader_epoch=99), change(cluster, 1, partition_epoch=99)):
        assert error(cluster, asked) is ErrorCode.NOT_CONTROLLER
    for asked in (change(cluster, 2), change(cluster), change(cluster, 1, 1), change(cluster, 1, 9)):
        assert error(cluster, asked) is ErrorCode.INVALID_REQUEST
    assert error(cluster, change(cluster, 1), sender=2) is ErrorCode.INVALID_REQUEST
    assert cluster.state(P).isr == (1, 2)


def test_a_leader_has_recovered_once_and_alone(cluster: ClassicCluster) -> None:
    assert error(cluster, change(cluster, 1, recovery=1)) is ErrorCode.INVALID_REQUEST
    state = cluster.state(P)._replace(isr=(1,), recovery_state=LeaderRecoveryState.RECOVERING)
    cluster.admin.set(nodes.state_path(P), nodes.encode_state(state))
    cluster.term.reassignment.refresh(P)
    assert error(cluster, change(cluster, 1, 2, recovery=1)) is ErrorCode.INVALID_REQUEST
    assert error(cluster, change(cluster, 1, 2, recovery=0)) is ErrorCode.NONE
    assert cluster.state(P).recovery_state is LeaderRecoveryState.RECOVERED


def test_where_somebody_else_has_written_the_next_request_starts_from_that(cluster: ClassicCluster) -> None:
    asked = change(cluster, 1, 2)
    other = cluster.state(P)._replace(isr=(1, 3))
    cluster.admin.set(nodes.state_path(P), nodes.encode_state(other))
    assert error(cluster, asked) is ErrorCode.INVALID_UPDATE_VERSION
    assert error(cluster, change(cluster, 1, 3, 2)) is ErrorCode.NONE
    assert cluster.state(P) == LeaderAndIsr(1, (1, 3, 2), controller_epoch=cluster.controller.epoch, version=2)
