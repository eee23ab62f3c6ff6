"""What metadata says about a partition's leader, given what was known."""

from uuid import UUID

import pytest

from logstore import TopicPartition
from replication.cluster.fetcher.leader_changes import KnownLeader, Recreated, Unknown, leader_of
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.metadata import Broker, ClusterMetadata, PartitionMetadata, TopicMetadata

PARTITION = TopicPartition("orders", 0)
TOPIC_ID, OTHER_ID = UUID(int=1), UUID(int=2)
BROKERS = {1: Broker(1, "broker1", 9092), 2: Broker(2, "broker2", 9092)}
KNOWN = KnownLeader(TOPIC_ID, 1, Address("broker1", 9092), 4)


def metadata(
    leader_id: int = 1,
    leader_epoch: int = 4,
    *,
    topic_id: UUID | None = TOPIC_ID,
    error: ErrorCode = ErrorCode.NONE,
    brokers: dict[int, Broker] = BROKERS,
) -> ClusterMetadata:
    standing = PartitionMetadata(ErrorCode.NONE, leader_id, leader_epoch)
    topic = TopicMetadata(error=error, topic_id=topic_id, partitions={0: standing})
    return ClusterMetadata(cluster_id="c", controller_id=1, brokers=brokers, topics={"orders": topic})


def test_nothing_new_is_what_was_known() -> None:
    assert leader_of(PARTITION, KNOWN, metadata()) is KNOWN


def test_a_first_answer_tells_leader_epoch_and_topic() -> None:
    assert leader_of(PARTITION, KnownLeader(), metadata()) == KNOWN


def test_a_newer_leader_is_followed() -> None:
    assert leader_of(PARTITION, KNOWN, metadata(2, 5)) == KnownLeader(TOPIC_ID, 2, Address("broker2", 9092), 5)


def test_a_leader_that_moved_is_found_where_it_is() -> None:
    moved = {1: Broker(1, "elsewhere", 9093)}
    assert leader_of(PARTITION, KNOWN, metadata(brokers=moved)) == KnownLeader(
        TOPIC_ID, 1, Address("elsewhere", 9093), 4
    )


def test_older_metadata_is_not_believed() -> None:
    assert isinstance(leader_of(PARTITION, KNOWN, metadata(2, 3)), Unknown)


def test_a_topic_of_another_id_is_another_topic() -> None:
    found = leader_of(PARTITION, KNOWN, metadata(leader_epoch=0, topic_id=OTHER_ID))
    assert isinstance(found, Recreated)
    assert "deleted and created again: its id was AAAAAAAAAAAAAAAAAAAAAQ and is AAAAAAAAAAAAAAAAAAAAAg" in found.reason


def test_brokers_that_tell_no_topic_ids_are_believed_to_mean_the_same_topic() -> None:
    assert leader_of(PARTITION, KNOWN, metadata(topic_id=None)) is KNOWN


@pytest.mark.parametrize(
    ("told", "error"),
    [
        (metadata(leader_id=-1, leader_epoch=5), ErrorCode.LEADER_NOT_AVAILABLE),
        (metadata(leader_id=7), ErrorCode.LEADER_NOT_AVAILABLE),
        (metadata(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (metadata(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (ClusterMetadata(cluster_id="c", controller_id=1, brokers=BROKERS, topics={}), ErrorCode.NONE),
    ],
)
def test_what_metadata_does_not_tell_is_asked_again(told: ClusterMetadata, error: ErrorCode) -> None:
    found = leader_of(PARTITION, KNOWN, told)
    assert isinstance(found, Unknown)
    assert found.error is error


def test_a_partition_that_the_topic_has_not_is_unknown() -> None:
    found = leader_of(TopicPartition("orders", 9), KnownLeader(), metadata())
    assert isinstance(found, Unknown)
    assert found.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
