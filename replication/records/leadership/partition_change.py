"""What changes in a partition: its ISR, its leader, its replicas (Kafka: PartitionChangeBuilder).

`partition_change` takes a partition as it is and the target, and returns the fields that change. It holds the
rules of elections and of reassignments that complete, and nothing else decides about leaders.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, TypedDict
from uuid import UUID

from replication.records.leadership.rules import Rules
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration
from replication.records.metadata.records import NO_LEADER

ReplicaIds: TypeAlias = tuple[int, ...]


class Election(Enum):
    """How far an election may go."""

    PREFERRED = "preferred"
    """To the first replica, where it is in sync; else the leader stays, or another in-sync replica leads."""
    ONLINE = "online"
    """The leader stays where it can; else an in-sync replica leads."""
    UNCLEAN = "unclean"
    """As ONLINE; before nobody leads, a replica out of sync does, and records may be lost."""


class ChangedFields(TypedDict, total=False):
    """The fields of a PartitionChangeRecord that are set.

    Each change raises the partition epoch by one, and one with a `leader`, even the same, the leader epoch too.
    """

    isr: ReplicaIds
    leader: int
    replicas: ReplicaIds
    removing_replicas: ReplicaIds
    adding_replicas: ReplicaIds
    leader_recovery_state: int
    directories: tuple[UUID, ...]
    eligible_leader_replicas: ReplicaIds
    last_known_elr: ReplicaIds


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be reached; None leaves it as it is."""

    isr: ReplicaIds | None = None
    replicas: ReplicaIds | None = None
    removing_replicas: ReplicaIds | None = None
    adding_replicas: ReplicaIds | None = None
    leader_recovery_state: int | None = None
    unclean_shutdown: Collection[int] = ()
    """Replicas whose broker came back from a crash: they may have lost records and are not eligible."""


AS_IT_IS: Final = Target()


class CannotPlaceError(LookupError):
    """A replica joins, and nobody said in which directory it will lie."""


def _no_directory(broker_id: int) -> UUID:
    raise CannotPlaceError(f"no default directory is known for broker {broker_id}; pass default_directory")


def partition_change(
    partition: PartitionRegistration,
    is_active: Callable[[int], bool],
    *,
    target: Target = AS_IT_IS,
    election: Election = Election.ONLINE,
    rules: Rules = Rules(),  # noqa: B008 - it is frozen
    min_isr: int = 1,
    default_directory: Callable[[int], UUID] = _no_directory,
) -> ChangedFields:
    """Return the fields that change: an empty mapping where nothing does.

    `is_active` says of a broker whether it may lead, `default_directory` where a replica lies that joins. `min_isr`
    counts only with eligible leader replicas: with fewer in sync, those that leave the ISR stay eligible.
    """
    return _Change(partition, is_active, target, election, rules).fields(min_isr, default_directory)


class _Change:
    """A change while it is worked out: each step sets fields, and later steps look at what earlier ones set."""

    __slots__ = (
        "adding",
        "changed",
        "election",
        "elr",
        "is_active",
        "isr",
        "last_known_elr",
        "partition",
        "removing",
        "replicas",
        "rules",
        "target",
    )

    def __init__(
        self,
        partition: PartitionRegistration,
        is_active: Callable[[int], bool],
        target: Target,
        election: Election,
        rules: Rules,
    ) -> None:
        self.partition = partition
        self.is_active = is_active
        self.target = target
        self.election = election
        self.rules = rules
        self.isr = partition.isr if target.isr is None else target.isr
        self.replicas = partition.replicas if target.replicas is None else target.replicas
        self.removing = partition.removing_replicas if target.removing_replicas is None else target.removing_replicas
        self.adding = partition.adding_replicas if target.adding_replicas is None else target.adding_replicas
        self.elr = partition.elr
        self.last_known_elr = partition.last_known_elr
        self.changed: ChangedFields = {}

    def fields(self, min_isr: int, default_directory: Callable[[int], UUID]) -> ChangedFields:
        if self.removing or self.adding:
            self._complete_reassignment()
        if self.rules.elr:
            self._keep_eligible(min_isr)
        self._elect()
        self._bump_for_dropped_replica()
        self._write_eligible()
        self._write_isr()
        if self.rules.bump_on_shrink:
            self._bump_for_shrunk_isr()
        self._write_last_known_leader()
        self._write_replicas(default_directory)
        self._write_recovery_state()
        return self.changed

    def _complete_reassignment(self) -> None:
        """Once what is added is in sync, what is removed leaves.

        Where the partition ends with fewer replicas than it had, all that remain must be in sync (KAFKA-15665).
        """
        isr, replicas = without(self.isr, self.removing), without(self.replicas, self.removing)
        if self.removing and not (isr and replicas):
            return
        awaited = replicas if len(self.adding) < len(self.removing) else self.adding
        if set(awaited) <= set(isr) and set(self.adding) <= set(isr):
            self.isr, self.replicas = isr, replicas
            self.removing = self.adding = ()

    def _keep_eligible(self, min_isr: int) -> None:
        """While fewer than `min_isr` are in sync, no record is acknowledged that those who left do not have."""
        if len(self.isr) >= min_isr:
            self.elr = self.last_known_elr = ()
            return
        left = {*self.elr, *self.partition.isr}.difference(self.isr)
        eligible = left.difference(self.target.unclean_shutdown)
        if not self.rules.keep_reassigned_eligible:
            eligible.intersection_update(self.partition.replicas, self.replicas)
        self.elr = tuple(sorted(eligible))
        self.last_known_elr = tuple(sorted(left.union(self.last_known_elr).difference(self.isr, eligible)))

    def _elect(self) -> None:
        leader, unclean = self._elected()
        if leader == self.partition.leader:
            return
        if leader in self.elr:
            self.isr = (leader,)
            self.elr = without(self.elr, self.isr)
        self.changed["leader"] = leader
        if unclean:
            self.changed["isr"] = (leader,)
            if self.rules.leader_recovery and self.partition.leader_recovery_state != LeaderRecoveryState.RECOVERING:
                self.changed["leader_recovery_state"] = LeaderRecoveryState.RECOVERING

    def _elected(self) -> tuple[int, bool]:
        """Return who leads, and whether it may lack records."""
        if self.election is Election.PREFERRED and self._may_lead(self.replicas[0]):
            return self.replicas[0], False
        if self._may_lead(self.partition.leader):
            return self.partition.leader, False
        for replica in self.replicas:
            if self._may_lead(replica):
                return replica, False
        if self._may_elect_last_known_leader():
            return self.partition.last_known_elr[0], True
        if self.election is Election.UNCLEAN:
            for replica in self.replicas:
                if self.is_active(replica):
                    return replica, True
        return NO_LEADER, False

    def _may_lead(self, replica: int) -> bool:
        return replica in (self.isr or self.elr) and self.is_active(replica)

    def _may_elect_last_known_leader(self) -> bool:
        known = self.partition.last_known_elr
        return (
            self.rules.elr
            and self.rules.last_known_leader
            and not (self.isr or self.elr)
            and len(known) == 1
            and self.is_active(known[0])
        )

    def _bump_for_dropped_replica(self) -> None:
        if "leader" in self.changed or self.replicas == self.partition.replicas:
            return
        if not set(self.partition.replicas) <= set(self.replicas):
            self.changed["leader"] = self.partition.leader

    def _bump_for_shrunk_isr(self) -> None:
        isr = self.changed.get("isr")
        if isr is not None and "leader" not in self.changed and not set(self.partition.isr) <= set(isr):
            self.changed["leader"] = self.partition.leader

    def _write_eligible(self) -> None:
        unclean = "isr" in self.changed
        if unclean or not self.rules.elr:
            self.elr = self.last_known_elr = ()
        if self.elr != self.partition.elr:
            self.changed["eligible_leader_replicas"] = self.elr
        if not self.rules.last_known_leader and self.last_known_elr != self.partition.last_known_elr:
            self.changed["last_known_elr"] = self.last_known_elr

    def _write_isr(self) -> None:
        """Write what an unclean election has not. Only with eligible leader replicas may nobody be in sync."""
        if "isr" not in self.changed and (self.isr or self.rules.elr) and self.isr != self.partition.isr:
            self.changed["isr"] = self.isr

    def _write_last_known_leader(self) -> None:
        """Remember the last leader when no replica can lead; forget it once one is elected."""
        if not (self.rules.elr and self.rules.last_known_leader) or "leader" not in self.changed:
            return
        known = self.partition.last_known_elr
        if self.changed["leader"] == NO_LEADER and not known:
            self.changed["last_known_elr"] = (self.partition.leader,)
        elif self.changed["leader"] != NO_LEADER and known:
            self.changed["last_known_elr"] = ()

    def _write_replicas(self, default_directory: Callable[[int], UUID]) -> None:
        if self.replicas and self.replicas != self.partition.replicas:
            self.changed["replicas"] = self.replicas
            if self.rules.directories:
                self._write_directories(default_directory)
        if self.removing != self.partition.removing_replicas:
            self.changed["removing_replicas"] = self.removing
        if self.adding != self.partition.adding_replicas:
            self.changed["adding_replicas"] = self.adding

    def _write_directories(self, default_directory: Callable[[int], UUID]) -> None:
        known: Mapping[int, UUID] = dict(zip(self.partition.replicas, self.partition.directories, strict=False))
        directories = tuple(
            known[replica] if replica in known else default_directory(replica) for replica in self.replicas
        )
        if directories != self.partition.directories:
            self.changed["directories"] = directories

    def _write_recovery_state(self) -> None:
        target_state = self.target.leader_recovery_state
        if target_state is not None and target_state != self.partition.leader_recovery_state:
            self.changed["leader_recovery_state"] = target_state


def without(replicas: ReplicaIds, left_out: Collection[int]) -> ReplicaIds:
    """Return the replicas in their order, without some."""
    return tuple(replica for replica in replicas if replica not in left_out)
