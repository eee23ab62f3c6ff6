"""Commands as brokers get them: requests of Kafka's protocol (Kafka: AbstractControllerBrokerRequestBatch)."""

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.commands.commands import (
    Command,
    LeaderAndIsrRequest,
    PartitionCommand,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.wire.messages.classic import leader_and_isr, stop_replica, update_metadata
from replication.wire.messages.classic.leader_and_isr import LeaderAndIsrResponse, LedPartition, LiveLeader
from replication.wire.messages.classic.stop_replica import StoppedReplica, StopReplicaResponse
from replication.wire.messages.classic.update_metadata import (
    AdvertisedEndpoint,
    KnownPartition,
    LiveBroker,
    UpdateMetadataResponse,
)
from replication.wire.messages.request import Request


def request_of(
    command: Command, listener: str
) -> Request[LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse]:
    """Return the request that says a command; brokers listen for each other by the listener of this name."""
    if isinstance(command, LeaderAndIsrRequest):
        return _leader_and_isr(command, listener)
    if isinstance(command, UpdateMetadataRequest):
        return _update_metadata(command)
    return _stop_replica(command)


def _leader_and_isr(command: LeaderAndIsrRequest, listener: str) -> leader_and_isr.LeaderAndIsrRequest:
    leaders = {each.state.leader for each in command.partitions.values()}
    found = ((each, command.brokers[each].listener(listener)) for each in sorted(leaders & command.brokers.keys()))
    return leader_and_isr.LeaderAndIsrRequest(
        controller_id=command.controller_id,
        controller_epoch=command.controller_epoch,
        broker_epoch=command.broker_epoch,
        partitions={partition: _led(told) for partition, told in command.partitions.items()},
        live_leaders=tuple(LiveLeader(each, found.host, found.port) for each, found in found if found is not None),
        topic_ids=command.topic_ids,
    )


def _led(told: PartitionCommand) -> LedPartition:
    state, assignment, is_new = told
    return LedPartition(
        controller_epoch=state.controller_epoch,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        partition_epoch=state.version,
        replicas=assignment.replicas,
        adding_replicas=assignment.adding,
        removing_replicas=assignment.removing,
        is_new=is_new,
        leader_recovery_state=int(state.recovery_state),
    )


def _update_metadata(command: UpdateMetadataRequest) -> update_metadata.UpdateMetadataRequest:
    return update_metadata.UpdateMetadataRequest(
        controller_id=command.controller_id,
        controller_epoch=command.controller_epoch,
        broker_epoch=command.broker_epoch,
        partitions={partition: _known(command, partition) for partition in command.partitions},
        live_brokers=tuple(_live_broker(each, command.brokers[each]) for each in command.live_brokers),
        topic_ids=command.topic_ids,
    )


def _known(command: UpdateMetadataRequest, partition: TopicPartition) -> KnownPartition:
    state, replicas = command.partitions[partition], command.replicas[partition]
    return KnownPartition(
        controller_epoch=state.controller_epoch,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        zk_version=state.version,
        replicas=replicas,
        offline_replicas=tuple(each for each in replicas if each not in command.live_brokers),
    )


def _live_broker(broker_id: int, broker: RegisteredBroker) -> LiveBroker:
    endpoints = (AdvertisedEndpoint(port, host, name, protocol) for name, host, port, protocol in broker.listeners)
    return LiveBroker(broker_id, tuple(endpoints), broker.rack)


def _stop_replica(command: StopReplicaRequest) -> stop_replica.StopReplicaRequest:
    return stop_replica.StopReplicaRequest(
        controller_id=command.controller_id,
        controller_epoch=command.controller_epoch,
        broker_epoch=command.broker_epoch,
        partitions={partition: StoppedReplica(*stop) for partition, stop in command.partitions.items()},
    )
