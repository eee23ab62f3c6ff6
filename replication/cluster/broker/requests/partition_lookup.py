"""Finds the partitions that requests name, and says why one cannot be asked."""

from collections.abc import Callable, Iterable
from typing import Final
from uuid import UUID

from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions, Pair
from replication.cluster.broker.requests.known_cluster import KnownCluster, node_of
from replication.records.metadata.records import NO_LEADER
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import LeaderIdAndEpoch

ANY_EPOCH: Final = -1
"""Instead of the epoch in which the asker believes the leader to lead: it does not say (KIP-320)."""


def refusal(hosted: HostedPartition, current_leader_epoch: int, *, only_leader: bool) -> ErrorCode:
    """Return why a copy does not answer one who believes it to be led in `current_leader_epoch`; NONE if it does."""
    if current_leader_epoch not in (ANY_EPOCH, hosted.leader_epoch):
        is_old = current_leader_epoch < hosted.leader_epoch
        return ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if only_leader and not hosted.is_leader else ErrorCode.NONE


class PartitionLookup:
    """Finds copies (Kafka: ReplicaManager.getPartitionOrError)."""

    viewpoint: object = None
    """For whom it finds them; where all may ask about all, it is the same for everybody."""
    unnamed: ErrorCode = ErrorCode.UNKNOWN_TOPIC_ID
    """What is said of a topic of which there is no name."""

    def __init__(self, partitions: HostedPartitions, cluster: KnownCluster) -> None:
        """Look among the partitions of a broker; the cluster has more."""
        self.copy: Callable[[Pair], HostedPartition | None] = partitions.find
        """Returns the copy of a partition, or None."""
        self._offline = partitions.offline
        self._cluster = cluster

    def find(self, partition: Pair, current_leader_epoch: int, *, only_leader: bool) -> HostedPartition | ErrorCode:
        """Return a copy that is led in the epoch that the asker believes, here if that must be; else why not."""
        found = self.copy(partition)
        if found is None:
            return self.absence(partition)
        if found.is_leader and current_leader_epoch in (ANY_EPOCH, found.leader_epoch):
            return found  # most ask so
        return refusal(found, current_leader_epoch, only_leader=only_leader) or found

    def absence(self, partition: Pair) -> ErrorCode:
        """Return why there is no copy of a partition here."""
        if partition in self._offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        is_known = self._cluster.partition(partition) is not None
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def unknown(self, partition: Pair) -> ErrorCode:
        """Return that the cluster has no such partition; NONE where it has."""
        is_known = self._cluster.partition(partition) is not None
        return ErrorCode.NONE if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def is_follower(self, partition: Pair, node_id: int) -> bool:
        """Whether another broker has a replica of a partition that is led here, as far as that is known."""
        known = self._cluster.partition(partition)
        return known is None or (node_id in known.replicas and node_id != self._cluster.node_id)

    def leader(self, partition: Pair, hosted: HostedPartition | None) -> LeaderIdAndEpoch:
        """Return who leads a partition, by what its copy here knows, else by the cluster's metadata (KIP-951)."""
        known = self._cluster.partition(partition)
        leader = NO_LEADER if known is None else known.leader
        if hosted is not None:
            return LeaderIdAndEpoch(self._cluster.node_id if hosted.is_leader else leader, hosted.leader_epoch)
        return LeaderIdAndEpoch(leader, -1 if known is None else known.leader_epoch)

    def addresses(self, node_ids: Iterable[int], listener: str) -> dict[int, Address]:
        """Return where these brokers can be reached by a listener; those that cannot are left out."""
        brokers = self._cluster.image().brokers
        nodes = (node_of(brokers.get(node_id), listener) for node_id in node_ids)
        return {
            node.id: Address(node.host, node.port) for node in nodes if node is not None and not brokers[node.id].fenced
        }

    def topic(self, topic_id: UUID) -> tuple[str | None, UUID]:
        """Return a topic's name and its id as the metadata has it; None where the cluster has none of that id."""
        topic = self._cluster.image().topics.by_id.get(topic_id)
        return (None, topic_id) if topic is None else (topic.name, topic.id)
