"""Which brokers should have copies of which partitions, by the metadata that a broker or controller keeps."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.topic_partition import TopicPartition
from replication.errors import ReplicationError
from replication.metadata.loading import LoadedImage, load_image
from replication.metadata_partition import METADATA_PARTITION

Directory = AbstractContextManager[Path]
"""Where a copy of the metadata partition can be read, for as long as it is entered."""


def assigned_copies(
    directories: Iterable[Directory], replicas: Mapping[int, str]
) -> dict[TopicPartition, tuple[str, ...]]:
    """Return which of the `replicas`, by node id, the newest of these copies of the metadata assigns each partition to.

    A replica that is being added or removed need not have it. A copy that cannot be read is left out,
    with a warning that says why.
    """
    newest = max(_images(directories), key=lambda loaded: (loaded.epoch, loaded.end_offset), default=None)
    # The metadata itself may be in a directory of its own (metadata.log.dir), which nobody named.
    assigned: dict[TopicPartition, tuple[str, ...]] = {METADATA_PARTITION: ()}
    if newest is None:
        return assigned
    for topic, number, state in newest.image.topics.partitions():
        moving = {*state.adding_replicas, *state.removing_replicas}
        names = (replicas[node] for node in state.replicas if node in replicas and node not in moving)
        assigned[TopicPartition(topic.name, number)] = tuple(names)
    return assigned


def _images(directories: Iterable[Directory]) -> Iterator[LoadedImage]:
    for directory in directories:
        try:
            with directory as path:
                yield load_image(path)
        except (LogStoreError, EpochError, ReplicationError, OSError) as error:
            message = f"missing copies could not be determined from the cluster's metadata: {error}"
            warnings.warn(message, stacklevel=2)
