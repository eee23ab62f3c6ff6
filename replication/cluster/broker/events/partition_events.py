"""What happens to a broker's partitions: a change of its role or of the ISR, a truncation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

from logstore import TopicPartition
from logstore.directory.shortfalls.shortfall import Shortfall
from replication.cluster.broker.errors import ways_out
from replication.records.metadata.partition import PartitionRegistration

Value: TypeAlias = str | int | bool | None
NO_EPOCH = -1


class Role(StrEnum):
    """What a broker is to a partition."""

    NONE = "none"
    """It has no replica, or not yet."""
    FOLLOWER = "follower"
    LEADER = "leader"
    OFFLINE = "offline"
    """Its replica cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleChanged:
    """A broker has another role, or the same in another leader epoch."""

    event: ClassVar[str] = "role-change"
    partition: TopicPartition
    before: Role
    after: Role
    leader_epoch_before: int = NO_EPOCH
    leader_epoch: int = NO_EPOCH
    """As far as this broker knows; NO_EPOCH where it has no part in it."""
    leader: int = -1
    """The broker that leads in that epoch; -1: none."""
    log_end_offset: int | None = None
    high_watermark: int | None = None
    why: str

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        return {
            **fields_of(self.event, self.partition),
            "leader_epoch_before": self.leader_epoch_before,
            "leader_epoch": self.leader_epoch,
            "from": self.before.value,
            "to": self.after.value,
            "leader": self.leader,
            "log_end_offset": self.log_end_offset,
            "high_watermark": self.high_watermark,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrChanged:
    """A partition that this broker leads has other replicas in sync than before, as the controller has committed it."""

    event: ClassVar[str] = "isr-change"
    partition: TopicPartition
    leader_epoch: int
    partition_epoch: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    log_end_offset: int
    high_watermark: int
    is_asked: bool
    """Whether this leader has asked for it; otherwise the controller has done it by itself."""
    why: str

    @property
    def has_shrunk(self) -> bool:
        """Whether somebody has left."""
        return not set(self.before) <= set(self.after)

    @property
    def has_expanded(self) -> bool:
        """Whether somebody has joined."""
        return not set(self.after) <= set(self.before)

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        return {
            **fields_of(self.event, self.partition),
            "leader_epoch": self.leader_epoch,
            "partition_epoch": self.partition_epoch,
            "from": _listed(self.before),
            "to": _listed(self.after),
            "log_end_offset": self.log_end_offset,
            "high_watermark": self.high_watermark,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """A replica has removed records that its leader does not have."""

    event: ClassVar[str] = "truncation"
    partition: TopicPartition
    leader_epoch: int
    """Of the leader that is followed."""
    last_epoch_before: int
    last_epoch: int
    """Of the log's last batch, before and after; NO_EPOCH: it has none."""
    before: int
    after: int
    """Where the log ended and where it ends."""
    records: int | None
    size: int | None
    """What was removed, in whole batches, and its bytes; None where it was not counted: all of a log went."""
    high_watermark: int
    """Before."""
    is_below_high_watermark: bool
    why: str

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        return {
            **fields_of(self.event, self.partition),
            "leader_epoch": self.leader_epoch,
            "last_epoch_before": self.last_epoch_before,
            "last_epoch": self.last_epoch,
            "from": self.before,
            "to": self.after,
            "records": self.records,
            "bytes": self.size,
            "high_watermark": self.high_watermark,
            "below_high_watermark": self.is_below_high_watermark,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLost:
    """A replica's directory is none of the log.dirs any more: it begins anew, empty."""

    event: ClassVar[str] = "replica-lost"
    partition: TopicPartition
    leader_epoch: int
    lost: str
    """The id of the directory that is gone."""
    root: str
    """Where the replica lies from now on."""
    is_only: bool
    """Whether there is no other: what it held is gone with it."""

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        where = "its directory is no longer in log.dirs"
        outcome = "no other replica has its records" if self.is_only else "it copies the leader's records"
        return {
            **fields_of(self.event, self.partition),
            "leader_epoch": self.leader_epoch,
            "from": self.lost,
            "to": self.root,
            "only_replica": self.is_only,
            "why": f"{where}: {outcome}",
        }


class Standing(StrEnum):
    """What becomes of a replica that has less than was said of it."""

    WITHHELD = "withheld"
    """Others, or the controller, count on it: it is not used, and a broker that starts stays fenced."""
    USED = "used"
    """Nobody counts on it: it catches up with whoever leads."""
    ACCEPTED = "accepted"
    """Whoever has started the broker wants it to lead with what it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaShort:
    """A replica has less than its broker's checkpoint files, or the metadata, say of it: it was cut, or is gone."""

    event: ClassVar[str] = "replica-short"
    partition: TopicPartition
    state: PartitionRegistration
    short: Shortfall
    standing: Standing
    missing: str = ""
    """What the leader lacks too of a log that is damaged; "" where it has not said so."""

    @property
    def is_only(self) -> bool:
        """Whether there is no other."""
        return len(self.state.replicas) == 1

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        claims, is_known = self.short.claims, not self.short.evidence
        return {
            **fields_of(self.event, self.partition),
            "leader_epoch": self.state.leader_epoch,
            "leader": self.state.leader,
            "directory": str(self.short.directory),
            "log_end_offset": self.short.log_end_offset,
            "recovery_point": claims.recovery_point if is_known else None,
            "high_watermark": claims.high_watermark if is_known else None,
            "only_replica": self.is_only,
            "standing": self.standing.value,
            "why": f"{self.short}; {self.missing}" if self.missing else str(self.short),
            "next": self._next(),
        }

    def _next(self) -> str:
        match self.standing:
            case Standing.WITHHELD if self.short.damage is not None and self.state.has_leader and not self.missing:
                return "nothing is truncated before the leader has confirmed that it has all that is damaged"
            case Standing.WITHHELD:
                return ways_out(self.partition, is_only=self.is_only)
            case Standing.ACCEPTED:
                return "it continues with what is left, and its followers are truncated to that"
            case _ if self.short.damage is not None:
                return "the leader has what is damaged: it is set aside here, in files beside the log, and copied"
            case _:
                return "no replica has more" if self.is_only else "it copies what it lacks from the leader"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamageRead:
    """A batch that somebody fetches is damaged: it is not sent, and nothing behind it in the same fetch."""

    event: ClassVar[str] = "damage-read"
    partition: TopicPartition
    file: str | None
    position: int | None
    """Bytes from the file's beginning."""
    offset: int | None
    why: str

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        return {
            **fields_of(self.event, self.partition),
            "file": self.file,
            "position": self.position,
            "offset": self.offset,
            "why": self.why,
            "next": (
                "fetches of it fail with CORRUPT_MESSAGE; make another replica the leader, and copy this one from it"
            ),
        }


PartitionEvent: TypeAlias = RoleChanged | IsrChanged | Truncated | ReplicaLost | ReplicaShort | DamageRead


def fields_of(event: str, partition: TopicPartition) -> dict[str, Value]:
    """Return the fields with which all that happens to a partition begins."""
    return {"event": event, "topic": partition.topic, "partition": partition.partition}


def _listed(broker_ids: Iterable[int]) -> str:
    return ",".join(map(str, broker_ids))
