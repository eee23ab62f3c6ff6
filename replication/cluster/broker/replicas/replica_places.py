"""In which directories the replicas of a broker lie, by its disks and by the metadata (KIP-858)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from uuid import UUID

from logstore import Log, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.errors import OfflineDirectoryError
from logstore.files.partition_metadata import format_uuid
from replication.records.metadata.image_changes import PartitionId
from replication.records.metadata.records import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY

_DISK_ADVICE: Final = (
    "put its disk back, and start the broker with all of its log.dirs; where the disk is lost, format an empty "
    "directory in its place, or take it out of log.dirs, and start the broker again: what others hold is copied then"
)
_NO_DIRECTORIES: Final = (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY)


class ReplicaPlaces:
    """Makes logs where they belong, and notes which the metadata has elsewhere."""

    def __init__(self, directories: LogDirectories, directory_ids: Mapping[UUID, LogDirectory]) -> None:
        """Create it with the roots, and those of them that have a directory.id."""
        self._directories: Final = directories
        self._by_id: Final = directory_ids
        self._ids: Final = {root.root: id_ for id_, root in directory_ids.items()}
        self.unassigned: Final[dict[PartitionId, UUID]] = {}
        """The directories that replicas lie in, or are about to, of which the metadata does not say it yet."""
        self.ahead: Final[set[PartitionId]] = set()
        """Those of which the metadata was told where they are about to lie."""

    def is_gone(self, partition: TopicPartition, directory_id: UUID) -> bool:
        """Whether a log cannot be here any more, as its directory is none of these: nothing of them is out of sight."""
        if directory_id in self._by_id or directory_id in _NO_DIRECTORIES:
            return False
        return not self._directories.offline and not any(
            partition in root.unreadable for root in self._directories.roots
        )

    def unfinished_copy(self, partition: TopicPartition) -> Path | None:
        """Return what a move has left that did not come to its end, which nobody has open; None where there is none."""
        copies = (root.futures.found.get(partition) for root in self._directories.roots if root.failure is None)
        return next(filter(None, copies), None)

    def make(
        self,
        partition: TopicPartition,
        topic_id: UUID,
        directory_id: UUID,
        *,
        is_new: bool,
        preferred: LogDirectory | None = None,
    ) -> Log:
        """Make a log where there is none. Raises OfflineDirectoryError where there may be one that cannot be seen now.

        An empty one in its place would lead, and what the other holds would be gone for whoever reads. That the
        metadata names a directory that works says nothing: it is told of a move before that is made. Where it names
        none, or one that is gone, that is the one that is preferred.
        """
        root = self._root_for(partition, directory_id, is_new=is_new, preferred=preferred)
        return (root or self._directories).create(partition, topic_id=topic_id)

    def make_many(self, topic_ids: Mapping[UUID, Mapping[TopicPartition, UUID | None]]) -> None:
        """Make logs of new partitions at once: the ids of their topics, by the directory that each is to lie in.

        Raises what `make` raises for one of them: some of the others are there by then, and some are not.
        """
        for directory_id, partitions in topic_ids.items():
            root = self._root_for(next(iter(partitions)), directory_id, is_new=True, preferred=None)
            (root or self._directories).create_many(partitions)

    def _root_for(
        self, partition: TopicPartition, directory_id: UUID, *, is_new: bool, preferred: LogDirectory | None
    ) -> LogDirectory | None:
        """Return where a log is to be made; None: in any root. Raises OfflineDirectoryError as `make` does."""
        if not is_new:
            self.ensure_none_is_hidden(partition)
        if directory_id in _NO_DIRECTORIES or self.is_gone(partition, directory_id):
            is_usable = preferred is not None and preferred.failure is None
            return preferred if is_usable and self._directories.begun_in(partition) in (None, preferred) else None
        root = self._by_id.get(directory_id)
        if root is None or root.failure is not None:
            name = format_uuid(directory_id)
            raise OfflineDirectoryError(
                f"{partition} lies in the directory with the id {name}, which is not there or has failed",
                advice=_DISK_ADVICE,
            )
        return root

    def ensure_none_is_hidden(self, partition: TopicPartition) -> None:
        """Raise OfflineDirectoryError where a partition may have a log that cannot be seen now."""
        for root in self._directories.roots:
            if partition in root.unreadable:
                raise OfflineDirectoryError(f"{partition} has a log that cannot be read: {root.unreadable[partition]}")
        if self._directories.offline:
            raise OfflineDirectoryError(f"{partition} may lie in a directory that is offline", advice=_DISK_ADVICE)

    def note(self, changed: PartitionId, root: Path, told: UUID, wanted: LogDirectory | None) -> None:
        """Note where a replica lies, `told` being what the metadata says: where it is wanted next may be told ahead."""
        held = self._ids.get(root)
        is_ahead = wanted is not None and told == self._ids.get(wanted.root)
        if told == held:
            self.ahead.discard(changed)
        if held is not None and told not in (held, MIGRATING_DIRECTORY) and not is_ahead:
            self.unassigned[changed] = held

    def note_failed(self, changed: PartitionId, root: Path, told: UUID) -> None:
        """Note that a replica lies in a root that has failed: the metadata is not to have it elsewhere, nor nowhere.

        Otherwise the controller sees it on a disk that works, and lets it lead (Kafka: the assignment is reverted).
        """
        held = self._ids.get(root)
        self.ahead.discard(changed)
        if held is not None and told != MIGRATING_DIRECTORY and (told != held or changed in self.unassigned):
            self.unassigned[changed] = held

    def may_switch(self, changed: PartitionId, root: Path, told: UUID) -> bool:
        """Whether the metadata says already that a replica is to lie in a root; it is noted that it should."""
        id_ = self._ids.get(root)
        if id_ is None or told in (id_, MIGRATING_DIRECTORY):
            return True
        self.unassigned[changed] = id_
        self.ahead.add(changed)
        return False

    def forget(self, changed: PartitionId) -> None:
        """Note that a replica is not here any more."""
        self.unassigned.pop(changed, None)
        self.ahead.discard(changed)

    def failed(self) -> frozenset[UUID]:
        """Return the ids of the directories that have failed by now."""
        return frozenset(id_ for id_, root in self._by_id.items() if root.failure is not None)

    def root_of(self, log: Log) -> LogDirectory:
        """Return the root that a log lies in. Raises OfflineDirectoryError where it is none of these."""
        for root in self._directories.roots:
            if root.root == log.directory.parent:
                return root
        raise OfflineDirectoryError(f"{log.directory} lies in none of the log.dirs", file=log.directory)
