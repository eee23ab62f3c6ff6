"""Leaderships that are not where they should be (Kafka: auto.leader.rebalance.enable)."""

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.imbalance import is_imbalanced


def imbalanced(
    assignments: Mapping[TopicPartition, ReplicaAssignment],
    states: Mapping[TopicPartition, LeaderAndIsr],
    live: AbstractSet[int],
    percentage: int,
) -> list[TopicPartition]:
    """Return the partitions to be led by their preferred replica: of imbalanced brokers, where that one can lead."""
    preferring: dict[int, list[TopicPartition]] = defaultdict(list)
    for partition, assignment in assignments.items():
        if assignment.replicas:
            preferring[assignment.replicas[0]].append(partition)
    found = []
    for broker_id, partitions in preferring.items():
        elsewhere = [each for each in partitions if each in states and states[each].leader != broker_id]
        if is_imbalanced(len(partitions), len(elsewhere), percentage) and broker_id in live:
            found += [each for each in elsewhere if broker_id in states[each].isr]
    return found
