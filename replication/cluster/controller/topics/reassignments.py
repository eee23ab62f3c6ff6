"""Reassignments that are asked for, cancelled and listed (Kafka: AlterPartitionReassignments, KIP-455)."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.leadership import change_of
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.assignment import check_assignment
from replication.records.leadership.partition_change import Election, Target, without
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import MetadataRecord, PartitionChangeRecord
from replication.records.metadata.topics import Topic
from replication.wire.error_code import ErrorCode


def start_target(partition: PartitionRegistration, target_replicas: tuple[int, ...]) -> Target:
    """Return what moves a partition to the target replicas: first all of them, then without the others.

    Where nothing is added, or nothing removed, what an earlier reassignment adds or removes stays as it is (Kafka:
    PartitionReassignmentReplicas).
    """
    removing = tuple(sorted(set(partition.replicas) - set(target_replicas)))
    adding = tuple(sorted(set(target_replicas) - set(partition.replicas)))
    return Target(
        replicas=target_replicas + removing, removing_replicas=removing or None, adding_replicas=adding or None
    )


class Reversal(NamedTuple):
    """The way back from a reassignment that goes on."""

    target: Target
    unclean: bool
    """No old replica is in sync: going back loses records."""


def cancel_target(partition: PartitionRegistration) -> Reversal:
    """Return what brings a partition back to the replicas that it had (Kafka: PartitionReassignmentRevert).

    Raises Refusal with INVALID_REPLICA_ASSIGNMENT where it had none.
    """
    replicas = without(partition.replicas, partition.adding_replicas)
    if not replicas:
        raise Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Invalid replica assignment: addingReplicas contains all replicas.",
        )
    in_sync = without(partition.isr, partition.adding_replicas)
    target = Target(isr=in_sync or replicas[:1], replicas=replicas, removing_replicas=(), adding_replicas=())
    return Reversal(target, unclean=not in_sync)


class ReassignmentRequest(NamedTuple):
    """The replicas that a partition shall have; None cancels the reassignment that goes on."""

    partition: TopicPartition
    replicas: tuple[int, ...] | None


class ReassignmentAnswer(NamedTuple):
    """What became of one request."""

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


class OngoingReassignment(NamedTuple):
    """A partition that is being reassigned."""

    partition: TopicPartition
    state: PartitionRegistration


def alter_reassignments(
    cluster: ClusterState, requests: Iterable[ReassignmentRequest], *, allow_replication_factor_change: bool = True
) -> Decision[list[ReassignmentAnswer]]:
    """Start and cancel reassignments, each for itself; of a partition that is named twice none."""
    asked = list(requests)
    times = Counter(request.partition for request in asked)
    records: list[MetadataRecord] = []
    answers: dict[TopicPartition, ReassignmentAnswer] = {}
    for request in asked:
        try:
            _check_once(times[request.partition])
            record = _alter(cluster, request, allow_replication_factor_change)
        except Refusal as refusal:
            answers[request.partition] = ReassignmentAnswer(request.partition, refusal.code, refusal.message)
            continue
        answers[request.partition] = ReassignmentAnswer(request.partition)
        if record is not None:
            records.append(record)
    return Decision(records, list(answers.values()))


def _check_once(times: int) -> None:
    """Refuse what one request names twice: what is decided first would not be known to what is decided then."""
    if times > 1:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Duplicate partition.")


def list_reassignments(
    cluster: ClusterState, partitions: Iterable[TopicPartition] | None = None
) -> list[OngoingReassignment]:
    """Return what is being reassigned, of these partitions or of all."""
    wanted = None if partitions is None else set(partitions)
    ongoing = []
    for key in cluster.index.reassigning():
        topic = cluster.image.topics.topic(key.topic_id)
        partition = TopicPartition(topic.name, key.partition_id)
        if wanted is None or partition in wanted:
            ongoing.append(OngoingReassignment(partition, topic.partitions[key.partition_id]))
    return sorted(ongoing, key=lambda each: each.partition)


def _alter(
    cluster: ClusterState, request: ReassignmentRequest, allow_replication_factor_change: bool
) -> PartitionChangeRecord | None:
    name, partition_id = request.partition
    topic = cluster.topic_named(name)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    partition = topic.partitions.get(partition_id)
    if partition is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{partition_id}.")
    if request.replicas is None:
        return _cancel(cluster, topic, partition_id, partition)
    check_assignment(cluster, request.replicas)
    if not allow_replication_factor_change:
        _check_replication_factor(partition, request.replicas)
    target = start_target(partition, request.replicas)
    return change_of(cluster, topic, partition_id, target=target, election=Election.ONLINE)


def _cancel(
    cluster: ClusterState, topic: Topic, partition_id: int, partition: PartitionRegistration
) -> PartitionChangeRecord | None:
    if not partition.is_reassigning:
        raise Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    reversal = cancel_target(partition)
    if reversal.unclean and not cluster.unclean_allowed(topic):
        raise Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {topic.name}:{partition_id} because it would require an "
            "unclean leader election.",
        )
    if not cluster.rules.cancel_past_eligible:
        _check_eligible(TopicPartition(topic.name, partition_id), partition, reversal)
    return change_of(cluster, topic, partition_id, target=reversal.target)


def _check_eligible(named: TopicPartition, partition: PartitionRegistration, reversal: Reversal) -> None:
    """Refuse to put a replica in sync past those that are known to have all that is committed (KIP-966).

    Permission for unclean elections is none for this: such an election takes an eligible replica before any other.
    """
    in_sync = reversal.target.isr or ()
    if reversal.unclean and partition.elr and not set(in_sync) <= set(partition.elr):
        eligible = ", ".join(map(str, partition.elr))
        raise Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {named.topic}:{named.partition} because replica "
            f"{in_sync[0]} would lead without records that the eligible leader replicas ({eligible}) have. Start one "
            "of those first.",
        )


def _check_replication_factor(partition: PartitionRegistration, replicas: tuple[int, ...]) -> None:
    """Refuse another number of replicas than the partition will have once it is reassigned (KIP-860)."""
    final = len({*partition.replicas, *partition.adding_replicas} - {*partition.removing_replicas})
    if final != len(replicas):
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {final} to {len(replicas)}",
        )
