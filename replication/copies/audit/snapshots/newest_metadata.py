"""The newest metadata of the cluster among those that are audited, with what its log shows of earlier leaders."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.files.partition_metadata import format_uuid
from logstore.topic_partition import TopicPartition
from replication.base.errors import ReplicationError
from replication.copies.audit.snapshots.leaderships import Leaderships
from replication.copies.audit.snapshots.registered import Registered
from replication.records.leadership.topic_settings import TopicSettings
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import LoadedImage, load_image
from replication.records.metadata.remote_storage import is_remote
from replication.records.metadata.topics import Topic

Directory = AbstractContextManager[Path]
"""Where a copy of the metadata partition can be read, for as long as it is entered."""


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """What a copy of the metadata says."""

    loaded: LoadedImage
    leaderships: Leaderships
    """Who led before, as far as the log goes back."""

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
                tuple(self.leaderships.successions.get((topic.id, number), ())),
                is_tiered=is_remote(self.image, topic.name),
            )
            for topic, number, _ in self.image.topics.partitions()
        }

    def _alone(self, topic: Topic, number: int, replicas: Mapping[int, str]) -> dict[str, int]:
        # Where more have to be in sync, a leader alone acknowledges nothing.
        if TopicSettings(self.image.configurations, {}).min_isr(topic) > 1:
            return {}
        epochs = self.leaderships.alone.get((topic.id, number), {})
        return {replicas[node]: epoch for node, epoch in epochs.items() if node in replicas}


def newest_metadata(directories: Iterable[Directory]) -> ClusterMetadata | None:
    """Load the newest of copies of the metadata; None where there is none.

    A copy that cannot be read is left out, with a warning that says why.
    """
    return max(_copies(directories), key=lambda each: (each.loaded.epoch, each.loaded.end_offset), default=None)


def _copies(directories: Iterable[Directory]) -> Iterator[ClusterMetadata]:
    for directory in directories:
        watch = Leaderships()
        try:
            with directory as path:
                yield ClusterMetadata(load_image(path, watch=watch), watch)
        except (LogStoreError, EpochError, ReplicationError, OSError) as error:
            message = f"missing copies could not be determined from the cluster's metadata: {error}"
            warnings.warn(message, stacklevel=2)
