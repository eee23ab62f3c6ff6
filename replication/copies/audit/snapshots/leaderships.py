"""Who led partitions, as the metadata's log shows it: alone in sync, and one after another without a loss."""

from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import (
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)

Place = tuple[UUID, int]
"""A partition, by its topic's id and its number."""


class EpochRange(NamedTuple):
    """The leader epochs from `first` to `last`, both included."""

    first: int
    last: int


@dataclass(slots=True)
class Leaderships:
    """Looks on while metadata is replayed; see `Watch`."""

    alone: dict[Place, dict[int, int]] = field(default_factory=dict)
    """By node the latest leader epoch that it led, and ended as the only one in sync."""
    successions: dict[Place, list[EpochRange]] = field(default_factory=dict)
    """Leader epochs, ascending: within a range each leader took over from one that led until then, while it was in
    sync, and had run since it came to be. So it had all that was committed before: nobody could have committed anything
    without it. A leader that was elected when nobody led begins a range of its own: it may have lost what its machine
    had not written, or what others committed before an unclean election."""
    _states: dict[Place, PartitionRegistration] = field(default_factory=dict)
    _in_sync_since: dict[Place, dict[int, int]] = field(default_factory=dict)
    _registered_at: dict[int, int] = field(default_factory=dict)
    _count: int = 0

    def begin(self, image: ClusterImage) -> None:
        """Add the partitions of a snapshot."""
        for topic, number, state in image.topics.partitions():
            self._take((topic.id, number), state)

    def see(self, record: MetadataRecord, image: ClusterImage) -> None:
        """Look at the partition that a record has just changed."""
        self._count += 1
        if isinstance(record, RegisterBrokerRecord):
            self._registered_at[record.broker_id] = self._count
        elif isinstance(record, (PartitionRecord, PartitionChangeRecord)):
            place = record.topic_id, record.partition_id
            self._take(place, image.topics.partition(*place))

    def _take(self, place: Place, state: PartitionRegistration) -> None:
        self._note_alone(self.alone.setdefault(place, {}), state)
        self._note_succession(place, state)
        since = self._in_sync_since.get(place, {})
        self._in_sync_since[place] = {node: since.get(node, self._count) for node in state.isr}
        self._states[place] = state

    @staticmethod
    def _note_alone(epochs: dict[int, int], state: PartitionRegistration) -> None:
        if state.isr == (state.leader,):
            epochs[state.leader] = state.leader_epoch
        elif epochs.get(state.leader) == state.leader_epoch:
            del epochs[state.leader]

    def _note_succession(self, place: Place, state: PartitionRegistration) -> None:
        before, ranges = self._states.get(place), self.successions.setdefault(place, [])
        if before is not None and before.leader_epoch == state.leader_epoch:
            return
        first = state.leader_epoch
        if before is not None and self._has_taken_over(place, before, state):
            first = ranges.pop().first
        ranges.append(EpochRange(first, state.leader_epoch))

    def _has_taken_over(self, place: Place, before: PartitionRegistration, state: PartitionRegistration) -> bool:
        if not state.has_leader:
            return True  # nobody writes in that epoch
        if not before.has_leader or state.leader not in before.isr:
            return False
        return self._in_sync_since[place][state.leader] > self._registered_at.get(state.leader, -1)
