"""Who leads the partitions of a cluster that nobody writes."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from logstore.topic_partition import TopicPartition
from replication.cluster.serving.frozen_broker import FrozenCopy
from replication.cluster.serving.leader_choice import LeaderChoice
from replication.copies.planning.advice import advise
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import NO_LEADER


def led(
    partition: TopicPartition,
    registered: PartitionRegistration | None,
    copies: Mapping[int, FrozenCopy],
    choice: LeaderChoice,
) -> PartitionRegistration:
    """Return a partition's state with one of the copies, by node id, as its leader.

    A broker that leads although the metadata has another one leads in the next epoch, as after an election, and is
    alone in the ISR. Where there is metadata, only copies of the partition's replicas count: without any nobody leads.
    """
    if registered is None:
        return _without_metadata(partition, copies)
    if choice is LeaderChoice.METADATA and registered.leader in copies:
        return registered
    candidates = {node_id: copy for node_id, copy in copies.items() if node_id in registered.replicas}
    leader = _recommended(partition, candidates) if candidates else NO_LEADER
    if leader == registered.leader:
        return registered
    return replace(
        registered,
        isr=(leader,) if candidates else registered.isr,
        leader=leader,
        leader_epoch=registered.leader_epoch + 1,
        partition_epoch=registered.partition_epoch + 1,
    )


def _without_metadata(partition: TopicPartition, copies: Mapping[int, FrozenCopy]) -> PartitionRegistration:
    leader = _recommended(partition, copies)
    replicas = (leader, *sorted(copies.keys() - {leader}))
    return PartitionRegistration(
        replicas=replicas, isr=(leader,), leader=leader, leader_epoch=_latest_epoch(copies.values())
    )


def _recommended(partition: TopicPartition, copies: Mapping[int, FrozenCopy]) -> int:
    if len(copies) == 1:
        return next(iter(copies))
    names = {str(node_id): node_id for node_id in copies}
    return names[
        advise(partition, {name: copies[node_id].log.recovered for name, node_id in names.items()}).recommended
    ]


def _latest_epoch(copies: Iterable[FrozenCopy]) -> int:
    epochs = (copy.log.epochs.latest for copy in copies)
    return max((entry.epoch for entry in epochs if entry is not None), default=0)
