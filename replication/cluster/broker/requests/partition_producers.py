"""Answers DescribeProducers: who writes to partitions, and their open transactions (KIP-664)."""

from logstore import TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.messages.describe_producers import (
    ActiveProducer,
    DescribedPartition,
    DescribedProducers,
    DescribeProducersRequest,
)
from replication.wire.server.call import Call


class PartitionProducers:
    """Describes what the copies here know of producers (Kafka: ReplicaManager.activeProducerState)."""

    def __init__(self, lookup: PartitionLookup, cluster: KnownCluster) -> None:
        """Look the partitions up here."""
        self._lookup = lookup
        self._cluster = cluster

    def answer(self, request: DescribeProducersRequest, _: Call) -> DescribedProducers:
        """Answer for each partition, whoever leads it."""
        return DescribedProducers(partitions={each: self._describe(each) for each in request.partitions})

    def _describe(self, partition: TopicPartition) -> DescribedPartition:
        hosted = self._lookup.copy(partition)
        if hosted is None:
            error = self._lookup.absence(partition)
            is_topic = partition.topic in self._cluster.image().topics.by_name
            is_of_topic = error is ErrorCode.TOPIC_AUTHORIZATION_FAILED or not is_topic
            return DescribedPartition(error, message_of(error) if is_of_topic else None)
        return DescribedPartition(producers=_producers(hosted))


def _producers(hosted: HostedPartition) -> tuple[ActiveProducer, ...]:
    return tuple(
        ActiveProducer(
            each.producer_id,
            each.epoch,
            each.last_sequence,
            each.timestamp,
            each.coordinator_epoch,
            each.transaction_start,
        )
        for each in hosted.log.producers
    )
