"""Finds the partitions that requests name, and says why one cannot be asked."""

from typing import Final

from logstore import TopicPartition
from replication.broker.partitions.hosted_partition import HostedPartition
from replication.broker.partitions.hosted_partitions import HostedPartitions
from replication.broker.requests.known_cluster import KnownCluster
from replication.protocol.error_code import ErrorCode

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

    def __init__(self, partitions: HostedPartitions, cluster: KnownCluster) -> None:
        """Look among the partitions of a broker; the cluster has more."""
        self._partitions = partitions
        self._cluster = cluster

    def find(
        self, partition: TopicPartition, current_leader_epoch: int, *, only_leader: bool
    ) -> HostedPartition | ErrorCode:
        """Return a copy that is led in the epoch that the asker believes, here if that must be; else why not."""
        found = self._partitions.find(partition)
        if found is None:
            return self.absence(partition)
        return refusal(found, current_leader_epoch, only_leader=only_leader) or found

    def absence(self, partition: TopicPartition) -> ErrorCode:
        """Return why there is no copy of a partition here."""
        if partition in self._partitions.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        is_known = self._cluster.partition(partition) is not None
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
