"""What an earlier start has left of moves between directories."""

import logging
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from uuid import UUID

from logstore import LogStoreError, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.errors import CorruptMetadataError
from logstore.files.partition_metadata import PartitionMetadata
from replication.cluster.broker.replicas.strays import is_own
from replication.records.metadata.image import ClusterImage

_log: Final = logging.getLogger(__name__)


class UnfinishedMoves:
    """Settles them by an image that has been read to its end, and once strays are set aside."""

    def __init__(
        self,
        image: ClusterImage,
        broker_id: int,
        directories: LogDirectories,
        directory_ids: Mapping[UUID, LogDirectory],
    ) -> None:
        """Change nothing yet; see `settle`."""
        self._image: Final = image
        self._broker_id: Final = broker_id
        self._directories: Final = directories
        self._roots: Final = directories.roots
        self._directory_ids: Final = directory_ids

    def settle(self) -> dict[TopicPartition, LogDirectory]:
        """Settle which directory of each partition counts; return where copies are to go on that have a source.

        Of two directories of a partition the one counts that the metadata names: the move had been made, but for the
        removal of the other, which is set aside. Where the metadata names a root that has a copy, and no log is left
        anywhere, the copy becomes the log, as in Kafka, but not while a root is offline: the log may lie there, with
        what it took after the metadata was told. Copies of what is not this broker's are removed. What its disk
        does not let be done is reported, and stays.
        """
        for partition in {each for root in self._roots for each in root.partitions}:
            self._set_other_aside(partition)
        going_on = {partition: self._go_on(partition, roots) for partition, roots in self._copies().items()}
        return {partition: root for partition, root in going_on.items() if root is not None}

    def _set_other_aside(self, partition: TopicPartition) -> None:
        named = self._named(partition)
        if named is None or partition not in named.partitions:
            return
        for root in self._roots:
            if root is not named and partition in root.partitions:
                try:
                    path = root.set_aside_stray(partition)
                    _log.warning("%s lies in %s by the metadata: set aside as %s", partition, named.root, path)
                except (LogStoreError, OSError) as error:
                    _log.error("%s cannot be set aside in %s: %s", partition, root.root, error)

    def _copies(self) -> dict[TopicPartition, list[LogDirectory]]:
        """Return the roots that hold copies of what is this broker's; other copies are removed."""
        copies: dict[TopicPartition, list[LogDirectory]] = defaultdict(list)
        for root in self._roots:
            for partition, path in root.futures.found.items():
                topic_id = _topic_id(path)
                if topic_id is not None and is_own(self._image, self._broker_id, partition, topic_id):
                    copies[partition].append(root)
                else:
                    _remove(root, partition)
        return copies

    def _go_on(self, partition: TopicPartition, copies: list[LogDirectory]) -> LogDirectory | None:
        named = self._named(partition)
        held = [root for root in self._roots if partition in root.partitions or partition in root.unreadable]
        if not held:
            if named in copies and not self._directories.offline:
                self._promote(named, partition)
            return None
        useful = [root for root in copies if root not in held]
        chosen = named if named in useful else next(iter(useful), None)
        for root in copies:
            if root is not chosen:
                _remove(root, partition)
        return chosen

    def _promote(self, root: LogDirectory | None, partition: TopicPartition) -> None:
        topic = self._image.topics.by_name.get(partition.topic)
        if root is None or topic is None:
            return
        try:
            root.futures.open(partition, topic.id)
            log = root.futures.promote(partition)
            _log.warning("%s has no log any more: its copy takes its place, as %s", partition, log.directory)
        except (LogStoreError, OSError) as error:
            _log.error("%s: its copy in %s cannot take its place: %s", partition, root.root, error)

    def _named(self, partition: TopicPartition) -> LogDirectory | None:
        topic = self._image.topics.by_name.get(partition.topic)
        state = None if topic is None else topic.partitions.get(partition.partition)
        if state is None or self._broker_id not in state.replicas:
            return None
        return self._directory_ids.get(state.directory_of(self._broker_id))


def _topic_id(path: Path) -> UUID | None:
    try:
        held = PartitionMetadata.of(path)
    except (CorruptMetadataError, OSError):
        return None
    return None if held is None else held.topic_id


def _remove(root: LogDirectory, partition: TopicPartition) -> None:
    try:
        root.futures.delete(partition)
    except (LogStoreError, OSError) as error:
        _log.error("the copy of %s in %s cannot be removed: %s", partition, root.root, error)
