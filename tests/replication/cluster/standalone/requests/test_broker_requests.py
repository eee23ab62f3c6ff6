"""What brokers ask their controller, as both the channel of its process and its listener answer it."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from replication.cluster.controller.topics.topics import NewTopic
from replication.cluster.standalone.new_cluster import begin_cluster
from replication.cluster.standalone.requests.broker_requests import BrokerRequests
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.records.metadata.image import ClusterImage
from replication.wire.error_code import ErrorCode
from replication.wire.messages import fetch
from replication.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from replication.wire.messages.alter_partition import AlterPartitionRequest, InSyncReplica, IsrAnswer, IsrChange
from replication.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    PlacedReplica,
    PlacementAnswer,
)
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest

CLUSTER, DIRECTORY, OTHER_DIRECTORY = "asked", UUID(int=5_001), UUID(int=5_002)


class Asked:
    """Brokers 1 and 2 in a cluster with `orders`, of one partition that is led by 1."""

    def __init__(self, directory: Path) -> None:
        self.metadata = StoredMetadata.open(directory)
        self.controller = StaticController(CLUSTER, self.metadata)
        begin_cluster(self.controller)
        self.requests = BrokerRequests(self.controller)
        self.epochs = {broker_id: self._join(broker_id) for broker_id in (1, 2)}
        topic = NewTopic("orders", assignments={0: (1, 2)})
        self.controller.decide(lambda deciding: deciding.create_topics([topic]))
        self.topic_id = self.image.topics.by_name["orders"].id

    def _join(self, broker_id: int) -> int:
        answer = self.requests.answer(registration(broker_id))
        offset = self.controller.published.applied_offset
        heartbeat = BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=answer.broker_epoch, current_metadata_offset=offset
        )
        assert not self.requests.answer(heartbeat).is_fenced
        return answer.broker_epoch

    @property
    def image(self) -> ClusterImage:
        return self.controller.published.image

    def wanted(self, *brokers: int, topic_id: UUID | None = None) -> IsrChange:
        isr = tuple(InSyncReplica(each, self.epochs[each]) for each in brokers)
        return IsrChange(topic_id or self.topic_id, 0, 0, 0, isr)


def registration(broker_id: int, cluster_id: str = CLUSTER) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=UUID(int=broker_id),
        listeners=(),
        log_dirs=(DIRECTORY, OTHER_DIRECTORY) if broker_id == 1 else (UUID(int=broker_id + 200),),
        features={"metadata.version": range(1, 41), "eligible.leader.replicas.version": range(2)},
    )


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    asked = Asked(tmp_path)
    yield asked
    asked.metadata.close()


def test_a_registration_that_is_refused_is_answered_with_the_error(asked: Asked) -> None:
    answer = asked.requests.answer(registration(3, "another"))
    assert (answer.error, answer.broker_epoch) == (ErrorCode.INCONSISTENT_CLUSTER_ID, -1)


def test_a_heartbeat_of_an_earlier_start_is_answered_with_the_error(asked: Asked) -> None:
    heartbeat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=asked.epochs[1] - 1, current_metadata_offset=0)
    assert asked.requests.answer(heartbeat).error is ErrorCode.STALE_BROKER_EPOCH


def test_an_isr_is_changed_and_the_partition_told_as_it_then_is(asked: Asked) -> None:
    changes = (asked.wanted(1), asked.wanted(1, topic_id=UUID(int=9)))
    request = AlterPartitionRequest(broker_id=1, broker_epoch=asked.epochs[1], changes=changes)
    answer = asked.requests.answer(request)
    assert answer.error is ErrorCode.NONE
    assert answer.answers == (
        IsrAnswer(asked.topic_id, 0, ErrorCode.NONE, leader=1, leader_epoch=0, isr=(1,), partition_epoch=1),
        IsrAnswer(UUID(int=9), 0, ErrorCode.UNKNOWN_TOPIC_ID),
    )
    assert asked.image.topics.by_name["orders"].partitions[0].isr == (1,)


def test_an_isr_that_an_earlier_start_wants_is_refused_as_a_whole(asked: Asked) -> None:
    request = AlterPartitionRequest(broker_id=1, broker_epoch=0, changes=(asked.wanted(1),))
    answer = asked.requests.answer(request)
    assert (answer.error, answer.answers) == (ErrorCode.STALE_BROKER_EPOCH, ())


def test_where_a_replica_lies_is_noted(asked: Asked) -> None:
    replicas = (PlacedReplica(OTHER_DIRECTORY, asked.topic_id, 0), PlacedReplica(OTHER_DIRECTORY, asked.topic_id, 4))
    request = AssignReplicasToDirsRequest(broker_id=1, broker_epoch=asked.epochs[1], replicas=replicas)
    assert asked.requests.answer(request).answers == (
        PlacementAnswer(*replicas[0], ErrorCode.NONE),
        PlacementAnswer(*replicas[1], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    )
    assert asked.image.topics.by_name["orders"].partitions[0].directory_of(1) == OTHER_DIRECTORY


def test_no_two_brokers_are_given_the_same_ids(asked: Asked) -> None:
    given: list[int] = []
    for broker_id in (1, 2, 1):
        request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=asked.epochs[broker_id])
        answer = asked.requests.answer(request)
        assert (answer.error, answer.count) == (ErrorCode.NONE, 1_000)
        given += range(answer.first_id, answer.first_id + answer.count)
    assert len(set(given)) == len(given) == 3_000


def test_an_earlier_start_is_given_no_ids(asked: Asked) -> None:
    answer = asked.requests.answer(AllocateProducerIdsRequest(broker_id=1, broker_epoch=0))
    assert (answer.error, answer.count) == (ErrorCode.STALE_BROKER_EPOCH, 0)


def test_what_brokers_do_not_ask_a_controller_is_a_mistake(asked: Asked) -> None:
    with pytest.raises(TypeError, match="FetchRequest"):
        asked.requests.answer(fetch.FetchRequest(partitions={}, topic_ids={}))  # type: ignore[type-var]


def test_all_of_it_is_served_over_a_network_too(asked: Asked) -> None:
    apis = asked.requests.apis()
    assert set(apis) == {56, 62, 63, 67, 73}
