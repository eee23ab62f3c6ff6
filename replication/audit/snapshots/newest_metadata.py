"""The newest metadata of the cluster among those that are audited, with what its log tells of earlier leaders."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.files.partition_metadata import format_uuid
from logstore.topic_partition import TopicPartition
from replication.audit.snapshots.registered import Registered
from replication.errors import ReplicationError
from replication.leadership.topic_settings import TopicSettings
from replication.metadata.image import ClusterImage
from replication.metadata.loading import LoadedImage, load_image
from replication.metadata.records import MetadataRecord, PartitionChangeRecord, PartitionRecord
from replication.metadata.remote_storage import is_remote
from replication.metadata.topics import Topic

Directory = AbstractContextManager[Path]
"""Where a copy of the metadata partition can be read, for as long as it is entered."""
Place = tuple[UUID, int]
"""A partition, by its topic's id and its number."""


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """What a copy of the metadata says."""

    loaded: LoadedImage
    alone: Mapping[Place, Mapping[int, int]]
    """By node the latest leader epoch that it led, and ended as the only one in sync, as far as the log goes back."""

    @property
    def image(self) -> ClusterImage:
        """The cluster as the last record leaves it."""
        return self.loaded.image

    def registrations(self, replicas: Mapping[int, str]) -> dict[TopicPartition, Registered]:
        """Return what is said of each partition, with the `replicas`' names by node id."""
        return {
            TopicPartition(topic.name, number): Registered(
                format_uuid(topic.id) if topic.id.int else None,
                self._alone(topic, number, replicas),
                is_tiered=is_remote(self.image, topic.name),
            )
            for topic, number, _ in self.image.topics.partitions()
        }

    def _alone(self, topic: Topic, number: int, replicas: Mapping[int, str]) -> dict[str, int]:
        # Where more have to be in sync, a leader alone acknowledges nothing.
        if TopicSettings(self.image.configurations, {}).min_isr(topic) > 1:
            return {}
        return {
            replicas[node]: epoch for node, epoch in self.alone.get((topic.id, number), {}).items() if node in replicas
        }


def newest_metadata(directories: Iterable[Directory]) -> ClusterMetadata | None:
    """Load the newest of copies of the metadata; None where there is none.

    A copy that cannot be read is left out, with a warning that says why.
    """
    return max(_copies(directories), key=lambda each: (each.loaded.epoch, each.loaded.end_offset), default=None)


def _copies(directories: Iterable[Directory]) -> Iterator[ClusterMetadata]:
    for directory in directories:
        watch = _Watch()
        try:
            with directory as path:
                yield ClusterMetadata(load_image(path, watch=watch.see), watch.alone)
        except (LogStoreError, EpochError, ReplicationError, OSError) as error:
            message = f"missing copies could not be determined from the cluster's metadata: {error}"
            warnings.warn(message, stacklevel=2)


@dataclass(slots=True)
class _Watch:
    """Sees who leads alone while a log is replayed."""

    alone: dict[Place, dict[int, int]] = field(default_factory=dict)

    def see(self, record: MetadataRecord, image: ClusterImage) -> None:
        """Look at the partition that a record has just changed."""
        if not isinstance(record, (PartitionRecord, PartitionChangeRecord)):
            return
        state = image.topics.partition(record.topic_id, record.partition_id)
        epochs = self.alone.setdefault((record.topic_id, record.partition_id), {})
        if state.isr == (state.leader,):
            epochs[state.leader] = state.leader_epoch
        elif epochs.get(state.leader) == state.leader_epoch:
            del epochs[state.leader]
