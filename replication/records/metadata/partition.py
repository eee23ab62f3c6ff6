"""A partition as the metadata has it (Kafka: PartitionRegistration)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Self
from uuid import UUID

from replication.records.codec.fields import NO_ID
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, MetadataVersion
from replication.records.metadata.records import (
    MIGRATING_DIRECTORY,
    NO_LEADER,
    NO_LEADER_CHANGE,
    PartitionChangeRecord,
    PartitionRecord,
)


class LeaderRecoveryState(IntEnum):
    """Whether the leader still recovers from an unclean election (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRegistration:
    """Who has a partition, who leads it, who follows closely, by broker ids (Kafka: PartitionRegistration)."""

    replicas: tuple[int, ...]
    """The preferred leader first."""
    isr: tuple[int, ...]
    """Those in sync. Empty only where the cluster keeps eligible leader replicas."""
    leader: int
    """A broker id, or NO_LEADER."""
    leader_epoch: int = 0
    partition_epoch: int = 0
    """Grows by one with every change."""
    leader_recovery_state: int = LeaderRecoveryState.RECOVERED
    adding_replicas: tuple[int, ...] = ()
    """What a reassignment that goes on adds."""
    removing_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    """Not in sync, yet known to have all that is committed (KIP-966)."""
    last_known_elr: tuple[int, ...] = ()
    directories: tuple[UUID, ...] = ()
    """For each replica the directory that holds it (KIP-858)."""

    @classmethod
    def of(cls, record: PartitionRecord) -> Self:
        """Create it from a record. Raises ValueError where that contradicts itself."""
        return cls(
            replicas=record.replicas,
            isr=record.replicas if record.isr == record.replicas else record.isr,
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            leader_recovery_state=_known(record.leader_recovery_state),
            adding_replicas=record.adding_replicas,
            removing_replicas=record.removing_replicas,
            elr=record.eligible_leader_replicas or (),
            last_known_elr=record.last_known_elr or (),
            directories=_fitting(record.directories or _migrating(record.replicas), record.replicas),
        )

    @property
    def has_leader(self) -> bool:
        """Whether anybody leads."""
        return self.leader != NO_LEADER

    @property
    def preferred_leader(self) -> int:
        """The first replica, or NO_LEADER without any (Kafka: preferredReplica)."""
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def is_reassigning(self) -> bool:
        """Whether replicas are being added or removed."""
        return bool(self.adding_replicas or self.removing_replicas)

    def directory_of(self, replica: int) -> UUID:
        """Return the directory that holds a replica. Raises ValueError for a broker that is none."""
        return self.directories[self.replicas.index(replica)]

    def changed(self, record: PartitionChangeRecord) -> Self:
        """Return the state after a change (Kafka: PartitionRegistration.merge).

        Each change moves the partition epoch, and the leader epoch where it names a leader, even the same one, or none.
        Raises ValueError where the record contradicts itself.
        """
        led = record.leader != NO_LEADER_CHANGE
        recovery = record.leader_recovery_state
        replicas = self.replicas if record.replicas is None else record.replicas
        isr = self.isr if record.isr is None else record.isr
        return type(self)(
            replicas=replicas,
            isr=replicas if isr == replicas else isr,
            leader=record.leader if led else self.leader,
            leader_epoch=self.leader_epoch + led,
            partition_epoch=self.partition_epoch + 1,
            leader_recovery_state=self.leader_recovery_state if recovery == -1 else _known(recovery),
            adding_replicas=self.adding_replicas if record.adding_replicas is None else record.adding_replicas,
            removing_replicas=self.removing_replicas if record.removing_replicas is None else record.removing_replicas,
            elr=self.elr if record.eligible_leader_replicas is None else record.eligible_leader_replicas,
            last_known_elr=self.last_known_elr if record.last_known_elr is None else record.last_known_elr,
            directories=self._changed_directories(record),
        )

    def without_elr(self) -> Self:
        """Return the state after the eligible leader replicas were forgotten: the same where there were none."""
        if not self.elr and not self.last_known_elr:
            return self
        nobody = PartitionChangeRecord(partition_id=0, topic_id=NO_ID, eligible_leader_replicas=(), last_known_elr=())
        return self.changed(nobody)

    def record(
        self, topic_id: UUID, partition_id: int, metadata_version: int = LATEST_METADATA_VERSION
    ) -> PartitionRecord:
        """Return the record that says all this, as far as the level of `metadata.version` has words for it."""
        elr = metadata_version >= MetadataVersion.V4_0_IV1
        directories = metadata_version >= MetadataVersion.V3_7_IV2
        return PartitionRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            replicas=self.replicas,
            isr=self.isr,
            removing_replicas=self.removing_replicas,
            adding_replicas=self.adding_replicas,
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=self.directories if directories else (),
            eligible_leader_replicas=(self.elr or None) if elr else None,
            last_known_elr=(self.last_known_elr or None) if elr else None,
        )

    def _changed_directories(self, record: PartitionChangeRecord) -> tuple[UUID, ...]:
        """Whoever changes the replicas names the directories too, unless none of them is known yet."""
        if record.replicas is None and record.directories is None:
            return self.directories
        replicas = self.replicas if record.replicas is None else record.replicas
        directories = self.directories if record.directories is None else record.directories
        if all(directory == MIGRATING_DIRECTORY for directory in directories):
            return _migrating(replicas)
        return _fitting(directories, replicas)


def _known(recovery_state: int) -> int:
    if recovery_state not in {LeaderRecoveryState.RECOVERED, LeaderRecoveryState.RECOVERING}:
        raise ValueError(f"{recovery_state} is not a leader recovery state")
    return recovery_state


def _fitting(directories: tuple[UUID, ...], replicas: tuple[int, ...]) -> tuple[UUID, ...]:
    if len(directories) != len(replicas):
        raise ValueError(f"{len(directories)} directories are named for {len(replicas)} replicas")
    return directories


def _migrating(replicas: Iterable[int]) -> tuple[UUID, ...]:
    return tuple(MIGRATING_DIRECTORY for _ in replicas)
