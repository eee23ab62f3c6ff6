"""Directories of partitions that the metadata does not give to a broker (Kafka: LogManager.isStrayKraftReplica)."""

import logging
from typing import Final
from uuid import UUID

from logstore import LogStoreError, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.files.partition_metadata import PartitionMetadata
from replication.records.metadata.image import ClusterImage

_log: Final = logging.getLogger(__name__)


def is_own(image: ClusterImage, broker_id: int, partition: TopicPartition, topic_id: UUID | None) -> bool:
    """Whether a directory of that topic id holds a replica of this broker's.

    Without an id, as before Kafka 2.8, it is taken for the topic that has its name; Kafka sets such a one aside.
    """
    topic = image.topics.by_name.get(partition.topic) if topic_id is None else image.topics.by_id.get(topic_id)
    if topic is None or topic.name != partition.topic:
        return False
    state = topic.partitions.get(partition.partition)
    return state is not None and broker_id in state.replicas


def set_strays_aside(image: ClusterImage, broker_id: int, directories: LogDirectories) -> None:
    """Mark as stray what is not this broker's by an image that has been read to its end; nothing is removed.

    What cannot be marked, or whose topic id cannot be read, stays where it is, and is reported.
    """
    for root in directories.roots:
        for partition, log in list(root.partitions.items()):
            try:
                held = PartitionMetadata.of(log.directory)
                if not is_own(image, broker_id, partition, None if held is None else held.topic_id):
                    path = root.set_aside_stray(partition)
                    _log.warning("%s is not this broker's by the metadata: set aside as %s", partition, path)
            except (LogStoreError, OSError) as error:
                _log.error("%s: not known whose it is, or not to be set aside: %s", log.directory, error)
