"""What leaders ask for: other replicas in the ISR (Kafka: AlterPartition, KIP-497, KIP-841, KIP-903)."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from replication.cluster.controller.brokers.broker_registry import registered
from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.leadership import change_of
from replication.cluster.controller.partition_index import PartitionKey
from replication.records.leadership.partition_change import Target
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration
from replication.records.metadata.records import NO_LEADER_CHANGE, MetadataRecord
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import (
    ANY_BROKER_EPOCH,
    AlterPartitionRequest,
    InSyncReplica,
    IsrChange,
)

_RECOVERY_STATES: Final = frozenset(LeaderRecoveryState)


class IsrChangeAnswer(NamedTuple):
    """What became of one change: the partition as it then is, or why not."""

    key: PartitionKey
    error: ErrorCode
    partition: PartitionRegistration | None = None


def change_isrs(cluster: ClusterState, request: AlterPartitionRequest) -> Decision[list[IsrChangeAnswer]]:
    """Change the ISRs that may be changed; refuses all of them only with STALE_BROKER_EPOCH."""
    registered(cluster, request.broker_id, request.broker_epoch)
    records: dict[PartitionKey, MetadataRecord] = {}
    answers = [_change_isr(cluster, request.broker_id, change, records) for change in request.changes]
    return Decision(list(records.values()), answers)


def _change_isr(
    cluster: ClusterState, sender: int, change: IsrChange, records: dict[PartitionKey, MetadataRecord]
) -> IsrChangeAnswer:
    key = PartitionKey(change.topic_id, change.partition)
    if key in records:
        return IsrChangeAnswer(key, ErrorCode.INVALID_UPDATE_VERSION)
    topic = cluster.image.topics.by_id.get(key.topic_id)
    if topic is None:
        return IsrChangeAnswer(key, ErrorCode.UNKNOWN_TOPIC_ID)
    partition = topic.partitions.get(key.partition_id)
    if partition is None:
        return IsrChangeAnswer(key, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    error = _fault(cluster, sender, change, partition)
    if error is not ErrorCode.NONE:
        return IsrChangeAnswer(key, error)
    isr = tuple(member.broker_id for member in change.isr)
    target = Target(isr=isr, leader_recovery_state=change.leader_recovery_state)
    record = change_of(cluster, topic, key.partition_id, target=target)
    if record is None:
        return IsrChangeAnswer(key, ErrorCode.NONE, partition)
    records[key] = record
    if record.leader not in {NO_LEADER_CHANGE, sender}:
        return IsrChangeAnswer(key, ErrorCode.NEW_LEADER_ELECTED)
    return IsrChangeAnswer(key, ErrorCode.NONE, partition.changed(record))


def _fault(cluster: ClusterState, sender: int, change: IsrChange, partition: PartitionRegistration) -> ErrorCode:
    """Return why a change is not granted. A sender that is ahead of this controller knows a newer one."""
    isr = [member.broker_id for member in change.isr]
    recovering = change.leader_recovery_state == LeaderRecoveryState.RECOVERING
    recovered = partition.leader_recovery_state == LeaderRecoveryState.RECOVERED
    if change.leader_epoch > partition.leader_epoch or change.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if change.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if sender != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if change.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas) or partition.leader not in isr:
        return ErrorCode.INVALID_REQUEST
    if change.leader_recovery_state not in _RECOVERY_STATES or (recovering and (recovered or len(isr) > 1)):
        return ErrorCode.INVALID_REQUEST
    if not _all_eligible(cluster, change.isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _all_eligible(cluster: ClusterState, members: Iterable[InSyncReplica]) -> bool:
    brokers = cluster.image.brokers
    return all(
        member.broker_id in cluster.active
        and member.broker_epoch in {ANY_BROKER_EPOCH, brokers[member.broker_id].epoch}
        for member in members
    )
