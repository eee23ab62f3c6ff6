"""What the cluster itself says of a partition, as far as it shows what its copies are worth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from logstore.topic_partition import TopicPartition
from replication.copies.audit.snapshots.foretold_election import UNTOLD, ForetoldElection
from replication.copies.audit.snapshots.leaderships import EpochRange


class ReadPosition(NamedTuple):
    """How far a consumer has read: all that lies below an offset in the log of whoever led in an epoch."""

    offset: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class Registered:
    """One partition, by the newest metadata that a copy holds."""

    topic_id: str | None
    """As `partition.metadata` writes it: a broker takes a log with another for stray, and begins an empty one. None
    where the metadata has no such partition, or could not be read."""
    alone: Mapping[str, int] = field(default_factory=dict)
    """By replica the latest leader epoch that it led and ended as the only one in sync: its log was acknowledged."""
    successions: tuple[EpochRange, ...] = ()
    """Leader epochs, ascending: within a range each leader had all that was committed before."""
    complete: tuple[str, ...] = ()
    """The replicas that have all that was committed: in sync or eligible in the end, and stopped in order."""
    read_to: tuple[ReadPosition, ...] = ()
    """How far consumer groups have read."""
    is_tiered: bool = True
    """Whether remote storage may have the beginning of its logs (KIP-405): taken for so where nothing says it."""
    election: ForetoldElection = UNTOLD
    """Whom the controller elects once brokers start."""

    @property
    def latest_succession(self) -> EpochRange | None:
        """The range that the partition is in by now."""
        return self.successions[-1] if self.successions else None

    def succession(self, leader_epoch: int) -> EpochRange | None:
        """Return the range that an epoch is in."""
        return next((each for each in self.successions if each.first <= leader_epoch <= each.last), None)


Registrations = Mapping[TopicPartition, Registered]
