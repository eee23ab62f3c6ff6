"""The groups that brokers have kept in `__consumer_offsets`."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from epoch.base.resource_limits import ResourceLimitError
from logstore import LogStoreError, TopicPartition
from logstore.batch.any_batch import Batch
from logstore.batch.record import Record
from logstore.log.readable_log import ReadableLog
from replication.records.coordinator_records.decided_records import DecidedRecords
from replication.records.coordinator_records.group_metadata import GroupMetadata, read_group, read_group_metadata
from replication.records.coordinator_records.offset_commit import OffsetCommit, read_group_partition, read_offset_commit

CONSUMER_OFFSETS: Final = "__consumer_offsets"
_READ_BYTES: Final = 1 << 20


@dataclass(slots=True)
class SavedGroups:
    """What a coordinator would know after it has loaded the same logs.

    Groups of the consumer protocol (KIP-848) are known by their offsets alone.
    """

    offsets: dict[str, dict[TopicPartition, OffsetCommit]] = field(default_factory=dict)
    """What each group has committed; it has an entry although that is nothing."""
    groups: dict[str, GroupMetadata] = field(default_factory=dict)
    """The groups that have, or had, members."""

    @classmethod
    def of(
        cls,
        logs: Iterable[ReadableLog],
        on_damage: Callable[[ReadableLog, LogStoreError], object] = lambda _log, _error: None,
    ) -> "SavedGroups":
        """Read partitions of `__consumer_offsets`, each up to its end or to its first damage.

        `on_damage` is called with that. Raises OSError.
        """
        saved = cls()
        for log in logs:
            try:
                saved._read(log)
            except ResourceLimitError:
                raise
            except LogStoreError as error:
                on_damage(log, error)
        return saved

    def without_members(self) -> "SavedGroups":
        """Return the same groups as they were once all members had left: empty, in the same generation."""
        emptied = {name: replace(each, protocol=None, leader=None, members=()) for name, each in self.groups.items()}
        return SavedGroups(self.offsets, emptied)

    def _read(self, log: ReadableLog) -> None:
        decided = DecidedRecords()
        for batch in _batches(log):
            for record in batch.records():
                for each in decided.add(
                    record,
                    producer_id=batch.producer_id,
                    is_transactional=batch.is_transactional,
                    is_control=batch.is_control,
                ):
                    self._take(each)

    def _take(self, record: Record) -> None:
        place = read_group_partition(record.key)
        if place is not None:
            self._take_commit(place.group, TopicPartition(place.topic, place.partition), record.value)
            return
        group = read_group(record.key)
        if group is not None:
            self._take_group(group, record.value)

    def _take_commit(self, group: str, partition: TopicPartition, value: bytes | None) -> None:
        commit = read_offset_commit(value)
        if commit is not None:
            self.offsets.setdefault(group, {})[partition] = commit
        elif group in self.offsets:
            self.offsets[group].pop(partition, None)

    def _take_group(self, group: str, value: bytes | None) -> None:
        metadata = read_group_metadata(value)
        if metadata is not None:
            self.groups[group] = metadata
            self.offsets.setdefault(group, {})
        else:
            self.groups.pop(group, None)
            if not self.offsets.get(group):
                self.offsets.pop(group, None)


def _batches(log: ReadableLog) -> Iterator[Batch]:
    offset = log.log_start_offset
    while view := log.read(offset, _READ_BYTES):
        yield from view.batches()
        offset = view.next_offset
