"""The logs of a broker's replicas, as they are when one is to be led or followed."""

import logging
from typing import Final
from uuid import UUID

from logstore import Log, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from replication.broker.errors import LostTailError, OtherTopicError
from replication.broker.replicas.passing_failures import is_torn
from replication.broker.replicas.replica_places import ReplicaPlaces
from replication.metadata.partition import PartitionRegistration

_log: Final = logging.getLogger(__name__)


class ReplicaLogs:
    """Finds them, makes them where there are none, and recovers those that a full disk has torn."""

    def __init__(self, broker_id: int, directories: LogDirectories, places: ReplicaPlaces) -> None:
        """Find them in these directories, and make them where `places` says."""
        self._broker_id: Final = broker_id
        self._directories: Final = directories
        self._places: Final = places

    def open(
        self,
        partition: TopicPartition,
        topic_id: UUID,
        state: PartitionRegistration,
        *,
        is_new: bool,
        preferred: LogDirectory | None,
    ) -> Log:
        """Return a partition's log; see `ReplicaPlaces.make` for `is_new` and `preferred`.

        Raises OtherTopicError where an earlier topic's files have its place, LostTailError, LogStoreError, and OSError.
        """
        log = self._directories.partitions.get(partition)
        if log is None:
            directory = state.directory_of(self._broker_id)
            return self._places.make(partition, topic_id, directory, is_new=is_new, preferred=preferred)
        log = self._recovered(log, partition, state)
        held = PartitionMetadata.of(log.directory)
        if held is None:
            PartitionMetadata(topic_id).write(log.directory / PARTITION_METADATA_NAME)
        elif held.topic_id != topic_id:
            raise OtherTopicError(log.directory, held.topic_id, topic_id)
        return log

    def _recovered(self, log: Log, partition: TopicPartition, state: PartitionRegistration) -> Log:
        """Return a log that can be written. Raises LostTailError where followers may hold what it has lost."""
        if not is_torn(log):
            return log
        recovered = self._places.root_of(log).recover(partition)
        _log.warning("%s was recovered after a full disk: it ends at %d", partition, recovered.log_end_offset)
        has_followers = state.leader == self._broker_id and len(state.replicas) > 1
        if has_followers and recovered.log_end_offset < log.log_end_offset:
            raise LostTailError(partition, recovered.log_end_offset, log.log_end_offset)
        return recovered
