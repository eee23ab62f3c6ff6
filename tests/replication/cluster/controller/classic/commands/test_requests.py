"""Commands as requests: what brokers of the ZooKeeper era are told, field by field."""

from uuid import UUID

from replication.cluster.controller.classic.commands.commands import (
    LeaderAndIsrRequest,
    PartitionCommand,
    StopPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from replication.cluster.controller.classic.commands.requests import request_of
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.records.metadata.partition import LeaderRecoveryState
from replication.wire.messages.broker_registration import Listener, SecurityProtocol
from replication.wire.messages.classic import leader_and_isr, stop_replica, update_metadata
from replication.wire.messages.classic.leader_and_isr import LedPartition, LiveLeader
from replication.wire.messages.classic.stop_replica import StoppedReplica
from replication.wire.messages.classic.update_metadata import AdvertisedEndpoint, KnownPartition, LiveBroker
from tests.replication.cluster.controller.classic.cluster import named

P = named("t-3")
IDS = {"t": UUID(int=7)}
STATE = LeaderAndIsr(2, (2, 1), 5, 9, LeaderRecoveryState.RECOVERING, 11)
INSIDE, OUTSIDE = Listener("INSIDE", "in-2", 1), Listener("OUTSIDE", "out-2", 2, SecurityProtocol.SSL)
BROKERS = {2: RegisteredBroker(70, (OUTSIDE, INSIDE), "r"), 3: RegisteredBroker(71)}


def test_who_leads_and_where_that_one_listens_for_brokers() -> None:
    told = PartitionCommand(STATE, ReplicaAssignment((1, 2, 3), (3,), (1,)), is_new=True)
    command = LeaderAndIsrRequest(1000, 9, 70, {P: told}, IDS, BROKERS)
    assert request_of(command, "INSIDE") == leader_and_isr.LeaderAndIsrRequest(
        controller_id=1000,
        controller_epoch=9,
        broker_epoch=70,
        partitions={P: LedPartition(9, 2, 5, (2, 1), 11, (1, 2, 3), (3,), (1,), True, 1)},
        live_leaders=(LiveLeader(2, "in-2", 1),),
        topic_ids=IDS,
    )
    nowhere = request_of(command, "ELSEWHERE")
    assert isinstance(nowhere, leader_and_isr.LeaderAndIsrRequest)
    assert nowhere.live_leaders == ()


def test_what_clients_get_and_which_replicas_are_not_there() -> None:
    command = UpdateMetadataRequest(1000, 9, 70, {P: STATE}, (2, 3), {P: (1, 2, 3)}, IDS, BROKERS)
    endpoints = (AdvertisedEndpoint(2, "out-2", "OUTSIDE", 1), AdvertisedEndpoint(1, "in-2", "INSIDE", 0))
    assert request_of(command, "INSIDE") == update_metadata.UpdateMetadataRequest(
        controller_id=1000,
        controller_epoch=9,
        broker_epoch=70,
        partitions={P: KnownPartition(9, 2, 5, (2, 1), 11, (1, 2, 3), (1,))},
        live_brokers=(LiveBroker(2, endpoints, "r"), LiveBroker(3)),
        topic_ids=IDS,
    )


def test_what_stops() -> None:
    command = StopReplicaRequest(1000, 9, 70, {P: StopPartition(5, delete=True)})
    assert request_of(command, "INSIDE") == stop_replica.StopReplicaRequest(
        controller_id=1000, controller_epoch=9, broker_epoch=70, partitions={P: StoppedReplica(5, delete=True)}
    )
