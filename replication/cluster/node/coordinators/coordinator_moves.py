"""How partitions of coordinators' topics move off brokers that coordinate nothing."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from logstore import TopicPartition
from replication.cluster.node.coordinators.coordinator_topic import COORDINATOR_TOPICS
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration


class CoordinatorMoves(NamedTuple):
    """Where the partitions are to lie of which a broker has replicas."""

    partitions: Mapping[TopicPartition, PartitionRegistration]
    """All of which it has, in order."""
    moves: Mapping[TopicPartition, tuple[int, ...]]
    """The replicas that they are to have. Those that only brokers have which cannot coordinate, and no other one could
    take, are left out."""

    @property
    def as_json(self) -> str:
        """The moves as kafka-reassign-partitions.sh takes them, without a blank."""
        moved = [
            {"topic": each.topic, "partition": each.partition, "replicas": replicas}
            for each, replicas in self.moves.items()
        ]
        return json.dumps({"version": 1, "partitions": moved}, separators=(",", ":"))


def coordinator_moves(
    image: ClusterImage, broker_id: int, coordinators: Collection[int], unfit: Collection[int]
) -> CoordinatorMoves:
    """Plan that a broker has none of these replicas, and no other one of those that are `unfit` has one beside it.

    Each replica goes to the coordinator which has the fewest by then. Where each of them has one, it goes without
    another one in its place: a partition may have fewer replicas afterwards.
    """
    partitions = dict(_partitions_of(image, broker_id))
    loads = Counter(dict.fromkeys(coordinators, 0))
    for _, partition in _all_partitions(image):
        loads.update(each for each in partition.replicas if each in coordinators)
    leaving = {broker_id, *unfit}
    moves = {each: _moved(_target(partition), leaving, loads) for each, partition in partitions.items()}
    return CoordinatorMoves(partitions, {each: replicas for each, replicas in moves.items() if replicas})


def _moved(replicas: tuple[int, ...], leaving: Collection[int], loads: Counter[int]) -> tuple[int, ...]:
    """Return the replicas of a partition without those that leave; the loads count what comes in their place."""
    kept: list[int] = []
    for replica in replicas:
        if replica not in leaving:
            kept.append(replica)
            continue
        free = [each for each in loads if each not in replicas and each not in kept]
        if free:
            chosen = min(free, key=lambda each: (loads[each], each))
            loads[chosen] += 1
            kept.append(chosen)
    return tuple(kept)


def _target(partition: PartitionRegistration) -> tuple[int, ...]:
    """Return the replicas once a reassignment that may go on is over."""
    return tuple(each for each in partition.replicas if each not in partition.removing_replicas)


def _partitions_of(image: ClusterImage, broker_id: int) -> Iterator[tuple[TopicPartition, PartitionRegistration]]:
    """Find those of which a broker has a replica that is not about to go."""
    for name, partition in _all_partitions(image):
        if broker_id in _target(partition):
            yield name, partition


def _all_partitions(image: ClusterImage) -> Iterator[tuple[TopicPartition, PartitionRegistration]]:
    for name in (topic.name for topic in COORDINATOR_TOPICS):
        topic = image.topics.by_name.get(name)
        for number, partition in sorted(topic.partitions.items()) if topic is not None else ():
            yield TopicPartition(name, number), partition
