"""The partition in which a KRaft cluster keeps its metadata (Kafka: Topic.CLUSTER_METADATA_TOPIC_PARTITION)."""

from typing import Final

from logstore.topic_partition import TopicPartition

METADATA_PARTITION: Final = TopicPartition("__cluster_metadata", 0)
