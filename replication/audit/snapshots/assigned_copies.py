"""Which brokers should have copies of which partitions, by the metadata that a broker or controller keeps."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from logstore.topic_partition import TopicPartition
from replication.metadata_partition import METADATA_PARTITION

if TYPE_CHECKING:
    from replication.audit.snapshots.newest_metadata import ClusterMetadata


def assigned_copies(
    newest: "ClusterMetadata | None", replicas: Mapping[int, str]
) -> dict[TopicPartition, tuple[str, ...]]:
    """Return which of the `replicas`, by node id, the cluster's metadata assigns each partition to.

    A replica that is being added or removed need not have it.
    """
    # The metadata itself may be in a directory of its own (metadata.log.dir), which nobody named.
    assigned: dict[TopicPartition, tuple[str, ...]] = {METADATA_PARTITION: ()}
    if newest is None:
        return assigned
    for topic, number, state in newest.image.topics.partitions():
        moving = {*state.adding_replicas, *state.removing_replicas}
        names = (replicas[node] for node in state.replicas if node in replicas and node not in moving)
        assigned[TopicPartition(topic.name, number)] = tuple(names)
    return assigned
