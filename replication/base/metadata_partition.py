"""The partition in which a KRaft cluster keeps its metadata (Kafka: Topic.CLUSTER_METADATA_TOPIC_PARTITION)."""

from typing import Final
from uuid import UUID

from logstore.topic_partition import METADATA_TOPIC, TopicPartition

METADATA_PARTITION: Final = TopicPartition(METADATA_TOPIC, 0)
METADATA_TOPIC_ID: Final = UUID(int=1)
"""In each cluster (Kafka: Uuid.METADATA_TOPIC_ID)."""
