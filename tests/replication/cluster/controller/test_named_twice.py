"""One request that names the same thing twice: nothing is decided from a state that its own first half changes."""

import pytest

from replication.cluster.controller.topics.reassignments import ReassignmentAnswer, ReassignmentRequest
from replication.cluster.controller.topics.topics import MorePartitions, TopicAnswer
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import AlterPartitionRequest, InSyncReplica, IsrChange
from replication.wire.messages.elect_leaders import ElectionType
from tests.replication.cluster.controller.small_cluster import SmallCluster, named

DUPLICATE_NAME, DUPLICATE_ID = "Duplicate topic name.", "Duplicate topic id."


@pytest.fixture
def cluster() -> SmallCluster:
    cluster = SmallCluster()
    cluster.topic("a", (1, 2, 3))
    return cluster


def test_a_topic_is_deleted_once_and_not_where_it_is_named_twice(cluster: SmallCluster) -> None:
    topic_id = cluster.key("a").topic_id
    invalid = ErrorCode.INVALID_REQUEST
    for asked, answers in (
        (["a", "a"], [TopicAnswer("a", invalid, DUPLICATE_NAME)]),
        ([topic_id, topic_id], [TopicAnswer(topic_id, invalid, DUPLICATE_ID)]),
        (
            ["a", topic_id],
            [TopicAnswer("a", invalid, DUPLICATE_NAME), TopicAnswer(topic_id, invalid, DUPLICATE_ID)],
        ),
    ):
        decision = cluster.controller.delete_topics(asked)
        assert (decision.records, decision.answer) == ([], answers)


def test_a_topic_is_enlarged_once(cluster: SmallCluster) -> None:
    decision = cluster.controller.add_partitions([MorePartitions("a", 2), MorePartitions("a", 3)])
    assert decision.records == []
    assert decision.answer == [TopicAnswer("a", ErrorCode.INVALID_REQUEST, DUPLICATE_NAME)]


def test_a_partition_goes_one_way(cluster: SmallCluster) -> None:
    asked = [ReassignmentRequest(named("a-0"), (1, 2)), ReassignmentRequest(named("a-0"), None)]
    decision = cluster.controller.alter_reassignments(asked)
    assert decision.records == []
    assert decision.answer == [ReassignmentAnswer(named("a-0"), ErrorCode.INVALID_REQUEST, "Duplicate partition.")]


def test_a_partition_is_elected_once(cluster: SmallCluster) -> None:
    cluster.fence(1)
    cluster.heartbeat(1)
    cluster.set_isr("a", 2, 3, 1)
    before = cluster.partition("a").leader_epoch
    answers = cluster.done(cluster.controller.elect_leaders(ElectionType.PREFERRED, [named("a-0")] * 2))
    assert [answer.error for answer in answers] == [ErrorCode.NONE]
    assert cluster.partition("a").leader_epoch == before + 1


def test_an_isr_that_was_just_changed_is_another_than_the_leader_knows(cluster: SmallCluster) -> None:
    shrunk = IsrChange(*cluster.key("a"), 0, 0, (InSyncReplica(1),))
    answers = cluster.done(
        cluster.controller.change_isrs(
            AlterPartitionRequest(broker_id=1, broker_epoch=cluster.epochs[1], changes=(shrunk, shrunk))
        )
    )
    assert [answer.error for answer in answers] == [ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION]
    assert cluster.partition("a") == answers[0].partition


def test_a_recovery_state_that_nobody_knows_is_refused(cluster: SmallCluster) -> None:
    strange = IsrChange(*cluster.key("a"), 0, 0, (InSyncReplica(1),), leader_recovery_state=7)
    decision = cluster.controller.change_isrs(
        AlterPartitionRequest(broker_id=1, broker_epoch=cluster.epochs[1], changes=(strange,))
    )
    assert decision.records == []
    assert decision.answer[0].error is ErrorCode.INVALID_REQUEST
