"""All partitions of which a broker has a copy."""

from collections.abc import Mapping
from uuid import UUID

from logstore import TopicPartition
from replication.broker.partitions.hosted_partition import HostedPartition


class HostedPartitions(dict[TopicPartition, HostedPartition]):
    """By topic and number; the topics also by id."""

    @property
    def names(self) -> Mapping[UUID, str]:
        """The names of the topics by their ids."""
        return {each.topic_id: key.topic for key, each in self.items() if each.topic_id is not None}
