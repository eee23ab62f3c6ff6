"""What a broker tells of a partition."""

from confluent_kafka.admin import AdminClient, PartitionMetadata

from tests.replication.waiting import wait_until

SECONDS = 30


def told_partition(admin: AdminClient, topic: str, partition: int = 0) -> PartitionMetadata:
    """Ask for it until there is one: a broker may hear of a new topic later than who has created it."""
    told: dict[int, PartitionMetadata] = {}

    def is_known() -> bool:
        told.update(admin.list_topics(topic, SECONDS).topics[topic].partitions)
        return partition in told

    wait_until(is_known)
    return told[partition]
